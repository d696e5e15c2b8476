import BellhopCore

/// Writes a comment on a task, once. Internal comments go through the Task Tracker API if it exists and accepts them; all others
/// through the Table API.
///
/// The task is read first, because the tracker answers 201 for an unknown one. After an unknown outcome the journal is checked
/// before anything is resent, and not before the server's time limit has passed, when no earlier request can still be running. A
/// 201 is no proof either: access rules may have discarded the text.
struct CommentAction: RecordAction {
    static let what = "comment"
    let connection: ServiceNowConnection
    let times: WriteTimes

    func proceed(_ comment: Comment, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        var comment = comment
        if connection.marksComments { comment.mark() }
        let notebook = note(of: delivery)
        // A person's retry restarts the count at 1, although earlier attempts may have sent it.
        var evidence = try await notebook.evidence(at: attempt)
        let work = try await prepare(comment, attempt, &evidence)
        if evidence.mayBeSent(before: attempt) {
            if let receipt = try await earlier(work, notebook, attempt, evidence) { return receipt }
        } else if let receipt = try await repeated(work, attempt) {
            return receipt
        }
        return try await write(work, notebook, &evidence)
    }

    private var journal: Journal {
        Journal(
            session: session, access: connection.journalAccess, claims: connection.claims, looks: connection.looks,
            labels: connection.labels, ahead: connection.entries, sessions: connection.writers.all.count)
    }

    /// What to write, where, and how to find it again.
    private struct Work: Sendable {
        var comment: Comment
        /// The task's table, if known.
        var table: String
        /// The server's time before the first possible send.
        var since: Timestamp
        var search: Journal.Search
        /// How far the server's clock is ahead of ours.
        var ahead: Duration
        /// The latest moment to send it.
        var notAfter: Timestamp
    }

    // MARK: Before

    /// Checks that the task exists. If the account may not read it, the tracker's list decides.
    private func prepare(
        _ comment: Comment, _ attempt: Attempt, _ evidence: inout WriteEvidence
    ) async throws(Failure) -> Work {
        var table = "task"
        var serverTime: Timestamp?
        // Entries that the history shows before the first send are not this comment.
        let isFirst = !evidence.mayBeSent(before: attempt)
        let looksAtHistory = isFirst ? connection.journalAccess.now != .open : connection.journalAccess.now == .closed
        do throws(Failure) {
            let record = try await read(
                comment.reference, fields: looksAtHistory ? [comment.element] + TaskHistories.times : [], attempt)
            table = record.table
            serverTime = record.serverTime(at: connection.clock.now)
            if isFirst, looksAtHistory { evidence.history = record[comment.element]?.label.map { JournalHistory.Known($0) } }
        } catch  where error.reason == .forbidden {
            serverTime = try await checkList(for: comment)
        } catch  where error.reason == .goneOrHidden {
            // A task this account may not read looks like a missing one (404).
            let gone = error
            do throws(Failure) {
                serverTime = try await checkList(for: comment)
            } catch {
                switch error.remedy {
                case .retry, .rest: throw error
                case .giveUp, .unknownOutcome, .hold, .pauseConnection: throw gone
                }
            }
        }
        let now = connection.clock.now
        var since = serverTime ?? now
        if let kept = evidence.since {
            since = kept
        } else if let began = attempt.firstStarted {
            // Computed with the local clock, which may have been corrected since.
            since = since - max(now - began, .zero) - times.correction
        }
        let search = Journal.Search(
            task: comment.task, table: table, element: comment.element, text: comment.text,
            notBefore: since - times.skew, history: evidence.history, claimed: attempt.claimed, delivery: comment.delivery.text,
            listed: table == "task" ? comment.reference.className : table, upcoming: attempt.upcomingTasks(besides: comment.task))
        return Work(
            comment: comment, table: table, since: since, search: search, ahead: (serverTime ?? now) - now,
            notAfter: attempt.now + times.start)
    }

    private func checkList(for comment: Comment) async throws(Failure) -> Timestamp? {
        let reply = try await session.send(.tasks)
        let listing: Listing
        do {
            listing = try Listing(reply.body, shape: .serviceNow)
        } catch {
            throw Failure(.badAnswer, .retry(after: nil), "The task list of \(place) cannot be read: \(error.description).")
        }
        guard listing.entries.contains(where: { $0.key == comment.task }) else {
            throw Failure(
                .goneOrHidden, .giveUp,
                "The task \(comment.number) is no longer among the active tasks of \(connection.username), "
                    + "and this account may not read others; no comment was sent.")
        }
        return reply.serverTime
    }

    /// Looks for a comment written in a period that the store does not cover. Only finding it counts: usually it was not written.
    private func repeated(_ work: Work, _ attempt: Attempt) async throws(Failure) -> Receipt? {
        guard let span = attempt.mayRepeat else { return nil }
        var search = work.search
        search.history = nil
        search.notBefore = span.lowerBound + work.ahead - times.skew
        search.notAfter = span.upperBound + work.ahead + times.skew
        guard case .written(let id) = try await journal.look(for: search) else { return nil }
        return work.comment.receipt("found written before the store was restored or the agent started over", id)
    }

    /// The outcome of earlier attempts. Nil if certainly nothing was written, so it may be sent.
    private func earlier(
        _ work: Work, _ notebook: DeliveryNote, _ attempt: Attempt, _ evidence: WriteEvidence
    ) async throws(Failure) -> Receipt? {
        var search = work.search
        // Reads after the quiet period show the earlier attempts' outcome.
        search.since = attempt.lastUncertain.map { $0 + times.quiet }
        let finding = try await journal.look(for: search)
        if case .written(let id) = finding {
            try await notebook.keep(nil, or: .unknownOutcome)
            return work.comment.receipt("found written by an earlier attempt", id)
        }
        guard attempt.lastUncertain != nil else { return nil }
        try await waitOut(attempt, evidence, notebook)
        guard !evidence.isDecided, let doubt = finding.doubt else { return nil }
        throw Failure(
            .notWritten, .hold,
            "An earlier attempt may have written the comment on \(work.comment.number): \(doubt). "
                + "Look there, then retry or drop the delivery.")
    }

    // MARK: Writing

    private func write(
        _ work: Work, _ notebook: DeliveryNote, _ evidence: inout WriteEvidence
    ) async throws(Failure) -> Receipt {
        // Stored before sending, so that later searches know where to start. A person's decision applies once.
        if evidence.since == nil || evidence.isDecided {
            evidence.since = work.since
            evidence.isDecided = false
            try await notebook.keep(evidence.json)
        }
        let written: Written<Receipt>
        do throws(Failure) {
            written = try await send(work)
        } catch {
            let failure = error
            let receipt: Receipt
            do throws(Failure) {
                receipt = try await settle(failure) { () async throws(Failure) in
                    try await look(work, "found written (\(failure.reason.rawValue))")
                }
            } catch {
                if error.remedy == .giveUp { await notebook.forget() }
                throw error
            }
            try await notebook.keep(nil, or: .unknownOutcome)
            return receipt
        }
        switch written {
        case .reply(let reply): return try await confirm(work, reply, notebook, evidence)
        case .found(let receipt):
            try await notebook.keep(nil, or: .unknownOutcome)
            return receipt
        }
    }

    /// If the Task Tracker API is not installed, or not for this account, the note goes to the record itself.
    private func send(_ work: Work) async throws(Failure) -> Written<Receipt> {
        func write(_ call: ServiceNowCall) async throws(Failure) -> Written<Receipt> {
            try await session.write(call) { () async throws(Failure) in
                try await look(work, "found written before a new login")
            }
        }
        do throws(Failure) {
            return try await write(work.comment.call(table: work.table, notAfter: work.notAfter))
        } catch  where work.comment.visibility == .internal && (error.reason == .apiMissing || error.reason == .forbidden) {
            // An API that is not installed wrote nothing; a refusal may come from a proxy in between.
            if error.reason == .forbidden, let receipt = try await found(work, after: error) { return .found(receipt) }
            return try await write(work.comment.patch(table: work.table, notAfter: work.notAfter))
        }
    }

    /// The result of a refused write; nil if it certainly wrote nothing, so it may be written another way.
    private func found(_ work: Work, after refusal: Failure) async throws(Failure) -> Receipt? {
        let finding: Look<Receipt>
        do throws(Failure) {
            finding = try await look(work, "found written (forbidden)")
        } catch {
            throw Failure(refusal.reason, .unknownOutcome, "\(refusal.message) The lookup afterwards failed: \(error.message)")
        }
        switch finding {
        case .written(let receipt): return receipt
        case .absent: return nil
        case .unprovable(let why):
            throw Failure(
                refusal.reason, .hold,
                "\(refusal.message) It is unknown whether the comment was written anyway: \(why). Look there, then retry or drop the delivery."
            )
        }
    }

    private func look(_ work: Work, _ summary: String) async throws(Failure) -> Look<Receipt> {
        let finding = try await journal.look(for: work.search)
        if case .written(let id) = finding { return .written(work.comment.receipt(summary, id)) }
        return finding.doubt.map { .unprovable($0) } ?? .absent
    }

    /// Checks that what the server claims to have written is there.
    private func confirm(
        _ work: Work, _ reply: ServiceNowReply, _ notebook: DeliveryNote, _ evidence: WriteEvidence
    ) async throws(Failure) -> Receipt {
        let status = String(reply.status)
        for wait in [.zero] + times.looks {
            let finding: Journal.Finding
            do {
                if wait > .zero { try await connection.clock.sleep(for: wait) }
                finding = try await connection.outlastingShortRests { () async throws(Failure) in
                    try await journal.look(for: work.search)
                }
            } catch {
                let why = (error as? Failure)?.message ?? "the attempt was cancelled"
                throw Failure(.notWritten, .unknownOutcome, "\(place) answered \(status), but this is unconfirmed: \(why)")
            }
            switch finding {
            case .written(let id):
                try await notebook.keep(nil, or: .unknownOutcome)
                return work.comment.receipt(status, id)
            case .altered(let id):
                // The server confirmed a write, and this is the only new entry.
                guard connection.claims.take(id, for: work.search.delivery) else { continue }
                try await notebook.keep(nil, or: .unknownOutcome)
                return work.comment.receipt("\(status), with another text than was sent", id)
            case .unprovable(let why):
                try await notebook.keep(nil, or: .unknownOutcome)
                return work.comment.receipt("\(status), not confirmed (\(why))", nil)
            case .absent: continue
            }
        }
        var evidence = evidence
        evidence.refusals += 1
        guard evidence.refusals < 2 else {
            try await notebook.keep(nil, or: .unknownOutcome)
            throw Failure(
                .notWritten, .giveUp,
                "\(place) said \(status) twice, but the comment is not in the journal of \(work.comment.number): "
                    + "the access rules probably do not let \(connection.username) write \(work.comment.element).")
        }
        try await notebook.keep(evidence.json, or: .unknownOutcome)
        throw Failure(
            .notWritten, .unknownOutcome,
            "\(place) said \(status), but the comment is not in the journal of \(work.comment.number); Bellhop will look again.")
    }
}

extension Journal.Finding {
    /// Why it may have been written although this is unproved; nil if it is proved either way.
    fileprivate var doubt: String? {
        switch self {
        case .written, .absent: nil
        case .altered: "there is a new entry of this account with another text"
        case .unprovable(let why): why
        }
    }
}
