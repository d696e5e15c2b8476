import BellhopCore

struct WriteTimes: Sendable, Hashable {
    /// The default of a connection's `timeout`.
    static let usualTimeout = Duration.seconds(30)

    /// How long after its start an attempt may send requests.
    var start = Duration.seconds(30)
    /// The longest run of a request on the server (60 s by ServiceNow's REST quota), and a margin.
    var server = Duration.seconds(90)
    /// The possible clock difference between the server's machines.
    var skew = Duration.seconds(30)
    /// The largest correction of the local clock between two attempts.
    var correction = Duration.seconds(900)
    /// The wait before each further lookup for a write that the server has confirmed.
    var lookupWaits = [Duration.seconds(1), .seconds(3)]

    /// How long after its start an attempt may still have a request running on the server.
    var quiet: Duration { start + server }
}

enum WriteStep: Sendable, Hashable {
    case send
    case done(Receipt)
    case stop(Failure)

    /// The receipt of a write that is done; nil if the request must be sent. Throws if the attempt stops.
    var receipt: Receipt? {
        get throws(Failure) {
            switch self {
            case .send: return nil
            case .done(let receipt): return receipt
            case .stop(let failure): throw failure
            }
        }
    }
}

/// Decides the next step of an attempt to write, from the facts about earlier attempts and the result of a lookup. Pure.
///
/// An attempt waits while an earlier request may still be running. If an earlier request may have succeeded, it sends again only
/// after a lookup shows the absence of the write, or a person decides.
struct WriteRules: Sendable {
    var noun: String
    /// The other system, for messages.
    var place: String
    /// See ``WriteTimes/quiet``.
    var quiet: Duration
    var foundAtFirst = ""

    func occasion(_ note: WriteNote, _ attempt: Attempt) -> LookupOccasion {
        // Until this delivery has sent a request, a lookup also accepts writes by others since the event.
        if let since = attempt.replayOf, note.since == nil { return .gap(min(since, attempt.now)..<attempt.now) }
        if note.since != nil || attempt.lastUncertain != nil {
            return .earlier(readSince: attempt.lastUncertain.map { $0 + quiet })
        }
        return attempt.mayRepeat.map { .gap($0) } ?? .first
    }

    /// The step after an attempt's first lookup. The lookup counts as made at the attempt's start: while its answer is on the way, an
    /// earlier request may take effect.
    func step(after lookup: Lookup, _ note: WriteNote, _ attempt: Attempt) -> WriteStep {
        if case .written(let proof) = lookup {
            switch occasion(note, attempt) {
            case .first, .unanswered, .answered: return .done(proof.receipt(foundAtFirst))
            case .gap where attempt.replayOf != nil: return .done(proof.receipt("already written since the replayed event"))
            case .gap: return .done(proof.receipt("found written before the store was restored or the agent started over"))
            case .earlier: return .done(proof.receipt("found written by an earlier attempt"))
            }
        }
        // A person who retries the delivery has looked.
        let isDecided = note.decided != nil && note.decided == attempt.lastUncertain
        if case .unprovable(let why) = lookup, case .gap = occasion(note, attempt), attempt.replayOf != nil, !isDecided,
            attempt.number > 1 || attempt.firstStarted == nil
        {
            return .stop(
                Failure(
                    .notWritten, .hold,
                    "It is unknown whether \(place) has received the \(noun) since the replayed event: \(why). Look there, then retry or drop the delivery."
                ))
        }
        if attempt.lastUncertain == nil { return .send }
        if let wait = attempt.wait(for: quiet) {
            return .stop(
                Failure(
                    .notWritten, .retry(after: wait),
                    "An earlier attempt may still be running on \(place); Bellhop looks for the \(noun) again before sending it.")
            )
        }
        if isDecided { return .send }
        switch lookup {
        case .written, .absent: return .send
        case .altered(_, let why), .unprovable(let why):
            return .stop(
                Failure(
                    .notWritten, .hold,
                    "An earlier attempt may have succeeded: \(why). Look for the \(noun) on \(place), then retry or drop the delivery."
                ))
        }
    }

    /// Whether a failed request needs a lookup: it may have succeeded nevertheless, or an intermediary may have refused it. Bad
    /// arguments were not sent, and `.notWritten` means that the answer proves the absence of the write.
    func needsLook(_ failure: Failure) -> Bool {
        switch failure.remedy {
        case .unknownOutcome: true
        case .giveUp: failure.reason != .notWritten && failure.reason != .badArguments
        case .retry, .rest, .hold, .pauseConnection, .pauseReceiver: false
        }
    }

    /// The step after a failed request and a lookup.
    /// - Parameter mayResend: whether it may be sent again at once.
    func step(after failure: Failure, _ lookup: Lookup, mayResend: Bool) -> WriteStep {
        switch lookup {
        case .written(let proof): return .done(proof.receipt("found written (\(failure.reason.rawValue))"))
        case .absent where mayResend: return .send
        case .altered(_, let why) where mayResend, .unprovable(let why) where mayResend:
            return .stop(
                Failure(
                    failure.reason, .hold,
                    "\(failure.message) It is unknown whether the \(noun) was written: \(why). Look there, then retry or drop the delivery."
                ))
        // The write is absent, and the other side says when to retry.
        case .absent where failure.rest != nil: return .stop(Failure(failure.reason, .rest(failure.rest), failure.message))
        // Refused with a reason, and the write is absent.
        case .absent where failure.reason == .refused: return .stop(Failure(.refused, .giveUp, failure.message))
        case .absent, .unprovable: return .stop(failure)
        case .altered: return .stop(Failure(failure.reason, .unknownOutcome, failure.message))
        }
    }

    /// The step after an answer that says it was written, and after the lookups for it. Counts answers that turned out wrong.
    func step(afterClaim status: String, ifAbsent why: String, _ lookup: Lookup, _ note: inout WriteNote) -> WriteStep {
        switch lookup {
        case .written(let proof): return .done(proof.receipt(status))
        case .unprovable(let why): return .done(Receipt("\(status), not confirmed (\(why))"))
        case .absent, .altered: break
        }
        note.denials += 1
        return .stop(
            note.denials < 2
                ? Failure(.notWritten, .unknownOutcome, "\(place) answered \(status), but \(why); Bellhop will look again.")
                : Failure(.notWritten, .giveUp, "\(place) answered \(status) twice, but \(why)."))
    }
}

extension Attempt {
    /// True if no request of the delivery can have been sent. A person's retry restarts the count at 1.
    var isFirst: Bool { number == 1 && lastUncertain == nil }

    /// True if an earlier attempt may have succeeded and a person has decided to repeat it.
    var isDecided: Bool { number == 1 && lastUncertain != nil }

    /// How long an earlier request may still be running; nil if none may be.
    /// - Parameter quiet: how long after the start of its attempt a request may run.
    func wait(for quiet: Duration) -> Duration? {
        guard let lastUncertain, quiet > .zero, lastUncertain + quiet > now else { return nil }
        return lastUncertain + quiet - now
    }

    /// Runs an attempt. A failure that would end the delivery holds it instead, if an earlier attempt may have succeeded.
    func holding(
        _ delivery: Delivery, _ noun: String, _ work: () async throws(Failure) -> Receipt
    ) async throws(Failure) -> Receipt {
        do throws(Failure) {
            return try await work()
        } catch {
            let isEnd: Bool
            switch error.remedy {
            case .retry: isEnd = number >= delivery.retry.attempts
            // These are found before the write is looked for.
            case .giveUp: isEnd = error.reason == .badArguments || error.reason == .goneOrHidden
            case .rest, .pauseConnection, .pauseReceiver, .hold, .unknownOutcome: isEnd = false
            }
            guard isEnd, lastUncertain != nil else { throw error }
            throw Failure(
                error.reason, .hold,
                error.message + " An earlier attempt may have written the \(noun): look there, then retry or drop the delivery.")
        }
    }
}

/// The facts that one attempt to write stores for the next attempt of the same delivery.
struct WriteNote: Sendable, Hashable {
    /// The other side's time before the first request; nil before anything was sent.
    var since: Timestamp?
    /// The start of an uncertain attempt that a person has decided to repeat, so that it no longer prevents a new one.
    var decided: Timestamp?
    /// How often the other side confirmed the write although it was absent.
    var denials = 0
    /// See ``Write/before``.
    var before: JSON?

    init() {}

    init(json: JSON?) {
        since = json?["since"]?.asInt.map { Timestamp(microseconds: $0) }
        decided = json?["decided"]?.asInt.map { Timestamp(microseconds: $0) }
        denials = json?["denials"]?.asInt.flatMap { Int(exactly: $0) } ?? 0
        before = json?["before"]
    }

    var json: JSON {
        var members: JSON.Object = [:]
        members["since"] = since.map { .int($0.microseconds) }
        members["decided"] = decided.map { .int($0.microseconds) }
        if denials > 0 { members["denials"] = .int(Int64(denials)) }
        members["before"] = before
        return .object(members)
    }
}

/// Stores a delivery's ``WriteNote``. The store deletes it together with recording that the delivery is done or dead, because an
/// attempt whose end was not recorded is repeated.
struct DeliveryNote: Sendable {
    private let notebook: any Notebook
    private let key: String

    init(of delivery: Delivery, in notebook: any Notebook) {
        self.notebook = notebook
        key = delivery.noteKey
    }

    func stored() async throws(Failure) -> JSON? {
        do { return try await notebook.note(key) } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The delivery's notes cannot be read: \(error).")
        }
    }

    /// The note for an attempt; empty for the first. A person's retry is a decision, which is stored at once.
    func read(at attempt: Attempt) async throws(Failure) -> WriteNote {
        if attempt.isFirst { return WriteNote() }
        var note = WriteNote(json: try await stored())
        if attempt.isDecided, note.decided != attempt.lastUncertain {
            note.decided = attempt.lastUncertain
            try await keep(note)
        }
        return note
    }

    /// - Parameter remedy: the remedy if this fails: `.unknownOutcome` after a write.
    func keep(_ note: WriteNote, or remedy: Failure.Remedy = .retry(after: nil)) async throws(Failure) {
        do {
            try await notebook.setNote(key, to: note.json)
        } catch {
            throw Failure(.fileSystem, remedy, "The delivery's notes cannot be kept: \(error).")
        }
    }
}

extension Delivery {
    /// The step's arguments, for an action without a message.
    func values() throws(Failure) -> JSON.Object {
        if case .values(let values) = arguments { return values }
        throw Failure.badArguments(
            "This delivery does not contain what `\(action)` needs; it was made by another version of Bellhop.")
    }
}
