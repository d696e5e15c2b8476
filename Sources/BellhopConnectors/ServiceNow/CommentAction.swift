import BellhopCore

/// Writes a comment on a task, once: internal through the Task Tracker API where there is one that takes it, else, and for the customer to
/// see, through the Table API.
///
/// The task is read first, for the tracker answers 201 to an unknown one. After an outcome that nobody knows the journal is read before
/// anything is sent again, and not before the server's own time limit has passed, when a request of ours can no longer be at work. A 201
/// alone is no proof either: access rules may have thrown the text away.
struct CommentAction: RecordAction {
    static let what = "comment"
    let connection: ServiceNowConnection
    let times: WriteTimes

    func proceed(_ comment: Comment, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        let notebook = note(of: delivery)
        // A person's retry counts from 1 again, and what was sent before may be there all the same.
        var note = attempt.isFirst ? CommentNote() : CommentNote(json: try await notebook.read())
        let work = try await prepare(comment, attempt, note)
        if !attempt.isFirst, let receipt = try await earlier(work, notebook, attempt, &note) { return receipt }
        return try await write(work, notebook, &note)
    }

    /// What is to be written, where, and how it is found again.
    private struct Work: Sendable {
        var comment: Comment
        /// The task's table, where it is known.
        var table: String
        /// The server's time before it could first have been sent.
        var since: Timestamp
        var search: Journal.Search
        /// It is not sent after this moment.
        var notAfter: Timestamp
    }

    // MARK: Before

    /// Makes sure of the task. Where the account may not read it, the tracker's list says whether it is there.
    private func prepare(_ comment: Comment, _ attempt: Attempt, _ note: CommentNote) async throws(Failure) -> Work {
        var table = "task"
        var serverTime: Timestamp?
        do throws(Failure) {
            if let look = try await connection.looks.look(
                at: comment.task, next: attempt.upcoming, session, at: connection.clock.now)
            {
                table = look.table
                serverTime = look.serverTime ?? look.at
            } else {
                let record = try await TaskRecord.read(comment.reference, fields: [], session)
                table = record.table
                serverTime = record.serverTime
            }
        } catch  where error.reason == .forbidden {
            serverTime = try await checkList(for: comment)
        } catch  where error.reason == .goneOrHidden {
            // A task that the account may not read is as one that is not there (404).
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
        if let kept = note.since {
            since = kept
        } else if let began = attempt.firstStarted {
            // Reckoned by our own clock, which may have been corrected since.
            since = since - max(now - began, .zero) - times.correction
        }
        let search = Journal.Search(
            task: comment.task, table: table, element: comment.element, text: comment.text,
            notBefore: since - times.skew, claimed: attempt.claimed)
        return Work(comment: comment, table: table, since: since, search: search, notAfter: attempt.now + times.start)
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
                "The task \(comment.number) is not among the active tasks of \(connection.username) any more, "
                    + "and this account may not read others; no comment was sent.")
        }
        return reply.serverTime
    }

    /// What became of earlier attempts. Nil when it is certain that nothing was written, so that it may be sent.
    private func earlier(
        _ work: Work, _ notebook: DeliveryNote, _ attempt: Attempt, _ note: inout CommentNote
    ) async throws(Failure) -> Receipt? {
        let finding = try await Journal(session: session).look(for: work.search)
        if case .written(let id) = finding {
            try await notebook.keep(nil, or: .unknownOutcome)
            return work.comment.receipt("found written by an earlier attempt", id)
        }
        guard let uncertain = attempt.lastUncertain else { return nil }
        let left = (uncertain + times.quiet) - connection.clock.now
        let decided = note.decided || attempt.number == 1
        if left > .zero {
            if decided != note.decided {
                note.decided = decided
                try await notebook.keep(note.json)
            }
            throw Failure(
                .notWritten, .retry(after: left),
                "An earlier attempt may still be at work on \(place); the comment is looked for again before it is sent.")
        }
        if finding == .absent || decided { return nil }
        throw Failure(
            .notWritten, .hold,
            "An earlier attempt may have written the comment, and this account cannot read the journal of \(work.comment.number): "
                + "look there, then retry or drop the delivery.")
    }

    // MARK: Writing

    private func write(_ work: Work, _ notebook: DeliveryNote, _ note: inout CommentNote) async throws(Failure) -> Receipt {
        // On disk before anything is sent, so that whoever looks for it knows from when on. A person's word is good for one time.
        if note.since == nil || note.decided {
            note.since = work.since
            note.decided = false
            try await notebook.keep(note.json)
        }
        let written: Written<Receipt>
        do throws(Failure) {
            written = try await send(work)
        } catch {
            // A refusal too is looked after: it may have come from what stands between.
            guard error.remedy == .unknownOutcome || error.remedy == .giveUp else { throw error }
            let failure = error
            if let receipt = try? await found(work, "found written (\(failure.reason.rawValue))") {
                try await notebook.keep(nil, or: .unknownOutcome)
                return receipt
            }
            if failure.remedy == .giveUp { await notebook.forget() }
            throw failure
        }
        switch written {
        case .reply(let reply): return try await confirm(work, reply, notebook, note)
        case .found(let receipt):
            try await notebook.keep(nil, or: .unknownOutcome)
            return receipt
        }
    }

    /// Where the Task Tracker API is not installed, or not for this account, the record takes the note itself.
    private func send(_ work: Work) async throws(Failure) -> Written<Receipt> {
        func write(_ call: ServiceNowCall) async throws(Failure) -> Written<Receipt> {
            try await session.write(call) { () async throws(Failure) in
                try await found(work, "found written before a new login")
            }
        }
        do throws(Failure) {
            return try await write(work.comment.call(table: work.table, notAfter: work.notAfter))
        } catch  where work.comment.visibility == .internal && (error.reason == .apiMissing || error.reason == .forbidden) {
            // Where it is not installed it wrote nothing; a refusal may have come from what stands between.
            if error.reason == .forbidden, let receipt = try await found(work, "found written (forbidden)") {
                return .found(receipt)
            }
            return try await write(work.comment.patch(table: work.table, notAfter: work.notAfter))
        }
    }

    /// Looks for the comment in the journal; nil where it is not there, and where nobody may see it.
    private func found(_ work: Work, _ summary: String) async throws(Failure) -> Receipt? {
        guard case .written(let id) = try await Journal(session: session).look(for: work.search) else { return nil }
        return work.comment.receipt(summary, id)
    }

    /// Looks whether what the server says it has written is there.
    private func confirm(
        _ work: Work, _ reply: ServiceNowReply, _ notebook: DeliveryNote, _ note: CommentNote
    ) async throws(Failure) -> Receipt {
        let status = String(reply.status)
        for wait in [.zero] + times.looks {
            let finding: Journal.Finding
            do {
                if wait > .zero { try await connection.clock.sleep(for: wait) }
                finding = try await connection.outlastingShortRests { () async throws(Failure) in
                    try await Journal(session: session).look(for: work.search)
                }
            } catch {
                let why = (error as? Failure)?.message ?? "the attempt was called off"
                throw Failure(.notWritten, .unknownOutcome, "\(place) said \(status), and nothing could confirm it: \(why)")
            }
            switch finding {
            case .written(let id):
                try await notebook.keep(nil, or: .unknownOutcome)
                return work.comment.receipt(status, id)
            case .unprovable:
                try await notebook.keep(nil, or: .unknownOutcome)
                return work.comment.receipt("\(status); this account cannot read the journal to confirm it", nil)
            case .absent: continue
            }
        }
        var note = note
        note.refusals += 1
        guard note.refusals < 2 else {
            try await notebook.keep(nil, or: .unknownOutcome)
            throw Failure(
                .notWritten, .giveUp,
                "\(place) said \(status) twice, but the comment is not in the journal of \(work.comment.number): "
                    + "the access rules probably do not let \(connection.username) write \(work.comment.element).")
        }
        try await notebook.keep(note.json, or: .unknownOutcome)
        throw Failure(
            .notWritten, .unknownOutcome,
            "\(place) said \(status), but the comment is not in the journal of \(work.comment.number); it is looked for again.")
    }
}
