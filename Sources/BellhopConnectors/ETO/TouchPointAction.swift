public import BellhopCore

/// Adds a response to a TouchPoint, exactly once.
///
/// The services have no idempotency keys, so sending twice would add two. The existing responses are noted before the first send;
/// after an unknown outcome they are read again, once no request of ours can still be running. A new one with the same content is
/// ours. A new one with different content may be ours as rewritten by the services: then a person decides.
public struct TouchPointAction: Action {
    /// The action's time limits.
    public struct Times: Sendable, Hashable {
        /// How long after its start an attempt may still send.
        public var start: Duration
        /// The longest time a request can run on the server. Not documented.
        public var server: Duration

        public init(start: Duration = .seconds(30), server: Duration = .seconds(120)) {
            self.start = start
            self.server = server
        }

        /// After this time no request of an attempt is still running.
        var quiet: Duration { start + server }
    }

    /// Who names the program, for messages.
    static let asker = "the step"
    private let connection: ETOConnection
    private let times: Times
    private var session: ETOSession { connection.session }
    private var place: String { connection.session.base.place }

    public init(connection: ETOConnection, times: Times = Times()) {
        self.connection = connection
        self.times = times
    }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let entry = try TouchPointEntry(delivery)
        do {
            try await connection.writing.enter()
        } catch {
            throw Failure(.interrupted, .retry(after: nil), "The response was cancelled before it was sent.")
        }
        defer { connection.writing.leave() }
        do throws(Failure) {
            return try await proceed(entry, delivery, attempt)
        } catch {
            // The last attempt certainly failed, but an earlier one may have written it: that is not dead.
            let isEnd: Bool
            switch error.remedy {
            case .retry: isEnd = attempt.number >= delivery.retry.attempts
            case .giveUp: isEnd = error.reason == .badArguments
            case .rest, .pauseConnection, .hold, .unknownOutcome: isEnd = false
            }
            guard isEnd, attempt.lastUncertain != nil else { throw error }
            throw Failure(
                error.reason, .hold,
                error.message + " An earlier attempt may have added the response: look there, then retry or drop the delivery.")
        }
    }

    private func proceed(_ entry: TouchPointEntry, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt {
        let notebook = DeliveryNote(of: delivery, in: connection.notebook)
        var note = attempt.isFirst ? TouchPointNote() : TouchPointNote(json: try await notebook.read())
        let span = note.isSent ? nil : attempt.mayRepeat
        let finding = try await look(for: entry, note, claimed: attempt.claimed, repeating: span)
        if span != nil, case .written(let id) = finding {
            return receipt("found written before the store was put back, or the agent began again", id)
        }
        if !attempt.isFirst, note.isSent {
            if case .written(let id) = finding {
                try await notebook.keep(nil, or: .unknownOutcome)
                return receipt("found written by an earlier attempt", id)
            }
            try await check(finding, attempt, &note, notebook)
        }
        if case .absent(let before) = finding, !note.isSent || note.before == nil { note.before = before }
        note.decided = false
        note.isSent = true
        // Saved before anything is sent, so that later attempts know which responses existed before.
        try await notebook.keep(note.json)
        return try await write(entry, note, notebook, delivery, attempt)
    }

    /// Returns if it may be sent again after an uncertain attempt: no request of ours is running, and the response is not there,
    /// or a person decided so.
    private func check(
        _ finding: Finding, _ attempt: Attempt, _ note: inout TouchPointNote, _ notebook: DeliveryNote
    ) async throws(Failure) {
        guard let uncertain = attempt.lastUncertain else { return }
        let left = (uncertain + times.quiet) - connection.clock.now
        let decided = note.decided || attempt.number == 1
        if left > .zero {
            if decided != note.decided {
                note.decided = decided
                try await notebook.keep(note.json)
            }
            throw Failure(
                .notWritten, .retry(after: left),
                "An earlier attempt may still be at work on \(place); Bellhop looks for the response before sending it again.")
        }
        if decided { return }
        switch finding {
        case .absent, .written: return
        case .unlike(let id):
            throw Failure(
                .notWritten, .hold,
                "An earlier attempt may have added the response: \(id) is new and has other content. Look there, then retry "
                    + "or drop the delivery.")
        case .unprovable(let why):
            throw Failure(
                .notWritten, .hold,
                "An earlier attempt may have added the response, and nothing can prove it: \(why) Look there, then retry or drop the "
                    + "delivery.")
        }
    }

    // MARK: Looking

    /// What reading the subject's responses showed.
    private enum Finding {
        case written(String)
        /// Not there; these responses are.
        case absent(TouchPointNote.Before)
        /// A new response with other content.
        case unlike(String)
        /// The account may not read them, or the earlier responses are unknown.
        case unprovable(String)
    }

    private func look(
        for entry: TouchPointEntry, _ note: TouchPointNote, claimed: Set<String>, repeating span: Range<Timestamp>? = nil
    ) async throws(Failure) -> Finding {
        var call = ETOCall.responses(of: entry.touchPoint, subject: entry.subject)
        call.program = entry.program
        call.whose = Self.asker
        let json: JSON
        do throws(Failure) {
            json = try await session.send(call).json(from: place)
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return .unprovable(error.message)
        }
        guard let items = json.isNull ? [] : json.asArray else {
            throw Failure(.badAnswer, .retry(after: nil), "\(place) did not answer with a list of responses.")
        }
        let responses = items.map(TouchPointResponse.init)
        guard !responses.contains(where: { $0.id == nil }) else {
            throw Failure(.badAnswer, .retry(after: nil), "\(place) sent a response without a number.")
        }
        guard note.before != nil || note.isSent else {
            for response in responses {
                guard let span, let id = response.id, !claimed.contains(subject(id)) else { continue }
                if try await isOurs(response, id, entry, madeIn: span) { return .written(id) }
            }
            return .absent(TouchPointNote.Before(responses))
        }
        var unlike: String?
        for response in responses {
            guard let id = response.id, !claimed.contains(subject(id)), note.before?.contains(id) != true else { continue }
            if try await isOurs(response, id, entry) { return .written(id) }
            unlike = unlike ?? id
        }
        guard let before = note.before else { return .unprovable("which responses existed before is unknown.") }
        return unlike.map(Finding.unlike) ?? .absent(before)
    }

    /// - Parameter span: the time that the store has no record of: a response created in it may be ours, too.
    private func isOurs(
        _ response: TouchPointResponse, _ id: String, _ entry: TouchPointEntry, madeIn span: Range<Timestamp>? = nil
    ) async throws(Failure) -> Bool {
        var response = response
        if response.elements == nil {
            var call = ETOCall.response(id, of: entry.touchPoint)
            call.program = entry.program
            call.whose = Self.asker
            response = TouchPointResponse(try await session.send(call).json(from: place))
        }
        if let created = response.created, !Self.same(created, entry.created) {
            guard let span, created >= span.lowerBound, created < span.upperBound else { return false }
        }
        return entry.answers.allSatisfy { answer in response.element(answer.element).map(answer.isSaid) ?? false }
    }

    /// Whether a server may have stored our time as this one: to the millisecond, cut to the second, or as a day in some zone.
    private static func same(_ there: Timestamp, _ own: Timestamp) -> Bool {
        let apart = max(there - own, own - there)
        if there.microseconds % 1_000_000 != 0 { return apart < .milliseconds(4) }
        if there.microseconds % 900_000_000 != 0 { return apart <= .seconds(1) }
        return apart <= .seconds(38 * 3600)
    }

    // MARK: Writing

    private func write(
        _ entry: TouchPointEntry, _ note: TouchPointNote, _ notebook: DeliveryNote, _ delivery: Delivery, _ attempt: Attempt
    ) async throws(Failure) -> Receipt {
        let reply: ETOReply
        do throws(Failure) {
            let program = try await session.programID(of: entry.program, for: Self.asker)
            let notAfter = min(attempt.now + times.start, delivery.expires ?? .distantFuture)
            reply = try await session.send(entry.call(notAfter: notAfter, program: program))
        } catch  where error.remedy == .unknownOutcome || error.isRefusal {
            return try await lookAfter(error, entry, note, notebook, attempt)
        } catch {
            // Nothing was sent: the earlier note is still valid.
            var note = note
            note.isSent = attempt.lastUncertain != nil
            let kept: JSON? = error.remedy == .giveUp && !note.isSent ? .none : .some(note.json)
            try await notebook.keep(kept, or: .unknownOutcome)
            throw error
        }
        let result = try? reply.json(from: place)
        let record = result?["AddTouchPointResponseResult"] ?? result
        if let id = record.map(TouchPointResponse.init)?.id, (Int64(id) ?? 0) > 0 {
            try await notebook.keep(nil, or: .unknownOutcome)
            return receipt(String(reply.status), id)
        }
        let words = (record?["ErrorMessage"]?.asString).map { ETOAnswer.shown($0, []) } ?? ""
        let failure = Failure(
            words.isEmpty ? .notWritten : .refused, .unknownOutcome,
            "\(place) said \(reply.status), but not which response it added\(words.isEmpty ? "" : ": " + words).")
        return try await lookAfter(failure, entry, note, notebook, attempt)
    }

    /// Checks at once after an unknown outcome, and after a refusal, which may come from an intermediary. A refusal with a
    /// message and no response there is final; if the check fails the outcome is unknown, and the next attempt checks again.
    private func lookAfter(
        _ failure: Failure, _ entry: TouchPointEntry, _ note: TouchPointNote, _ notebook: DeliveryNote, _ attempt: Attempt
    ) async throws(Failure) -> Receipt {
        let finding: Finding
        do throws(Failure) {
            finding = try await look(for: entry, note, claimed: attempt.claimed)
        } catch {
            throw Failure(failure.reason, .unknownOutcome, failure.message)
        }
        switch finding {
        case .written(let id):
            try await notebook.keep(nil, or: .unknownOutcome)
            return receipt("found written (\(failure.reason.rawValue))", id)
        case .absent where failure.reason == .refused && note.before != nil:
            try await notebook.keep(nil, or: .unknownOutcome)
            throw Failure(.refused, .giveUp, failure.message)
        case .unlike: throw Failure(failure.reason, .unknownOutcome, failure.message)
        case .absent, .unprovable:
            if failure.remedy == .giveUp { try await notebook.keep(nil, or: .unknownOutcome) }
            throw failure
        }
    }

    private func receipt(_ summary: String, _ id: String) -> Receipt {
        Receipt("\(summary), response \(id)", reference: subject(id))
    }

    /// Named as a source of the same connection names it, so that events about our own responses are recognized.
    private func subject(_ id: String) -> String { "\(connection.instance)/\(id)" }
}

extension Failure {
    /// Whether the services or an intermediary refused it.
    fileprivate var isRefusal: Bool { remedy == .giveUp && [.forbidden, .goneOrHidden, .refused].contains(reason) }
}
