import BellhopCore
import Synchronization

/// One thing to write to another system: how to look for it, and how to send it. ``Writer`` does the rest.
protocol Write: Sendable {
    /// The thing it writes, for messages: `comment`.
    static var noun: String { get }
    /// The start of the receipt if the first attempt's lookup finds that it is already written.
    static var foundAtFirst: String { get }

    /// The other side's time; nil if unknown.
    var time: Timestamp? { get }
    /// The state before the first request, with which later lookups distinguish this write from others.
    var before: JSON? { get }

    mutating func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup

    /// Sends it once; sends nothing after `notAfter`.
    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent
}

extension Write {
    static var foundAtFirst: String { "there already" }
    var time: Timestamp? { nil }
    var before: JSON? { nil }
}

/// The moment of a lookup within the attempts.
enum LookupOccasion: Sendable, Hashable {
    /// Before anything was sent.
    case first
    /// Before anything was sent, but the store has no record of this time: it may have been written then.
    case gap(Range<Timestamp>)
    /// An earlier attempt may have written it; reads at or after this moment would show it.
    case earlier(readSince: Timestamp?)
    /// After a request whose answer does not show whether it was written.
    case unanswered
    /// After an answer that says it was written: the newest entry is this one, even if its text was changed.
    case answered
}

/// The result of a lookup for the written data. A lookup that fails throws instead.
enum Lookup: Sendable, Hashable {
    case written(Proof)
    case absent
    /// A new entry with other content may be it; with the reason as part of a sentence.
    case altered(Proof, String)
    /// It cannot be found out whether it was written; with the reason as part of a sentence.
    case unprovable(String)
}

/// The proof that something was written.
struct Proof: Sendable, Hashable {
    /// For the receipt: `work note 7f3a…`.
    var text: String
    /// The other system's id of the entry, so that it proves no other delivery.
    var reference: String?

    init(_ text: String, reference: String? = nil) { (self.text, self.reference) = (text, reference) }

    func receipt(_ summary: String) -> Receipt {
        Receipt([summary, text].filter { !$0.isEmpty }.joined(separator: ", "), reference: reference)
    }
}

/// The outcome of a request to write. A request that is refused or has no complete answer throws instead.
enum Sent: Sendable, Hashable {
    /// The answer itself is the proof.
    case proved(Receipt)
    /// The answer, such as `201`, is not a proof; `ifAbsent` is the message if a lookup finds nothing.
    case claimed(String, ifAbsent: String)
    /// It was certainly not written, and may be sent again at once.
    case notTaken
    /// It may have been written, and may be sent again if a lookup finds nothing.
    case unclear(Failure)
}

/// Maps each remote entry that proves a write to its delivery, so that no entry proves two deliveries. The proofs from before
/// this process began come with the attempt.
///
/// A class with a lock, because concurrent deliveries share it.
final class ClaimedEntries: Sendable {
    private struct State {
        var deliveries: [String: String] = [:]
        var order: [String] = []
    }

    private let state = Mutex(State())
    /// More than can be looked for at the same time.
    private static let most = 10_000

    /// Claims an entry for a delivery; false if another has claimed it.
    func take(_ entry: String, for delivery: String) -> Bool {
        state.withLock { state in
            if let owner = state.deliveries[entry] { return owner == delivery }
            state.deliveries[entry] = delivery
            state.order.append(entry)
            if state.order.count > Self.most { state.deliveries[state.order.removeFirst()] = nil }
            return true
        }
    }

    func isFree(_ entry: String, for delivery: String) -> Bool {
        state.withLock { $0.deliveries[entry].map { $0 == delivery } ?? true }
    }
}

/// Performs one attempt to write something: looks the write up, sends it, looks it up again, and stores the note.
/// ``WriteRules`` decides.
struct Writer: Sendable {
    var delivery: Delivery
    var attempt: Attempt
    var notebook: any Notebook
    var clock: any AgentClock
    var times: WriteTimes
    /// The other system, for messages.
    var place: String

    /// The limit on the rests that the server may request during a lookup after a write, in total.
    private static let timeout = Duration.seconds(60)

    private var noteStore: DeliveryNote { DeliveryNote(of: delivery, in: notebook) }

    /// - Parameter prepare: makes the write from the note of earlier attempts; sends nothing.
    func perform<W: Write>(_ prepare: (WriteNote) async throws(Failure) -> W) async throws(Failure) -> Receipt {
        let note = try await noteStore.read(at: attempt)
        var write = try await prepare(note)
        return try await run(&write, note)
    }

    private func run<W: Write>(_ write: inout W, _ note: WriteNote) async throws(Failure) -> Receipt {
        var note = note
        let rules = WriteRules(noun: W.noun, place: place, quiet: times.quiet, foundAtFirst: W.foundAtFirst)
        let lookup = try await write.lookUp(rules.occasion(note, attempt))
        if let receipt = try rules.step(after: lookup, note, attempt).receipt { return receipt }
        if let expires = delivery.expires, expires < clock.now { throw .notSent(before: expires) }
        var sending = note
        sending.since = note.since ?? write.time ?? clock.now
        sending.before = write.before
        // Stored before anything is sent, so that later attempts know where to look.
        try await keep(sending, insteadOf: &note)
        while true {
            let sent: Result<Sent, Failure>
            do throws(Failure) {
                let notAfter = min(attempt.now + times.start, delivery.expires ?? .distantFuture)
                sent = .success(try await write.send(notAfter: notAfter))
            } catch {
                sent = .failure(error)
            }
            let step: WriteStep
            switch sent {
            case .success(.proved(let receipt)): step = .done(receipt)
            case .success(.notTaken): step = .send
            case .success(.unclear(let failure)):
                step = rules.step(after: failure, try await self.lookUp(&write, after: failure), mayResend: true)
            case .success(.claimed(let status, let why)):
                var counted = note
                step = rules.step(afterClaim: status, ifAbsent: why, try await confirm(&write, status), &counted)
                try await keep(counted, insteadOf: &note, or: .unknownOutcome)
            case .failure(let failure) where rules.needsLook(failure):
                step = rules.step(after: failure, try await self.lookUp(&write, after: failure), mayResend: false)
            case .failure(let failure): step = .stop(failure)
            }
            if let receipt = try step.receipt { return receipt }
        }
    }

    private func keep(
        _ new: WriteNote, insteadOf note: inout WriteNote, or remedy: Failure.Remedy = .retry(after: nil)
    ) async throws(Failure) {
        if new != note { try await noteStore.keep(new, or: remedy) }
        note = new
    }

    /// Looks the write up after a failed request. If the lookup fails too, the outcome is unknown, so that the next attempt
    /// looks again.
    private func lookUp<W: Write>(_ write: inout W, after failure: Failure) async throws(Failure) -> Lookup {
        do throws(Failure) {
            return try await write.lookUp(.unanswered)
        } catch {
            var unknown = Failure(
                failure.reason, .unknownOutcome, "\(failure.message) The lookup afterwards failed: \(error.message)")
            unknown.rest = (error.requestedRest ?? nil) ?? failure.rest
            throw unknown
        }
    }

    /// Looks several times for a write that the other system has confirmed.
    private func confirm<W: Write>(_ write: inout W, _ status: String) async throws(Failure) -> Lookup {
        do {
            for wait in [.zero] + times.lookupWaits {
                if wait > .zero { try await clock.sleep(for: wait) }
                switch try await lookUpDespiteRests(&write) {
                case .absent, .altered: continue
                case let lookup: return lookup
                }
            }
            return .absent
        } catch {
            let why = (error as? Failure)?.message ?? "the attempt was cancelled"
            throw Failure(.notWritten, .unknownOutcome, "\(place) answered \(status), but this is unconfirmed: \(why)")
        }
    }

    /// Repeats a lookup after short rests that the server requests, because they say nothing about the write.
    private func lookUpDespiteRests<W: Write>(_ write: inout W) async throws(Failure) -> Lookup {
        var left = Self.timeout
        while true {
            do throws(Failure) {
                return try await write.lookUp(.answered)
            } catch {
                guard case .rest(let wait) = error.remedy else { throw error }
                let rest = max(wait ?? .seconds(5), .milliseconds(100))
                left -= rest
                guard left >= .zero, (try? await clock.sleep(for: rest)) != nil else { throw error }
            }
        }
    }
}
