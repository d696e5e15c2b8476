import BellhopCore
import Synchronization

/// One thing to write to another system: how to look for it, and how to send it. ``Writer`` does the rest.
protocol Write: Sendable {
    /// The thing it writes, for messages: `comment`.
    static var noun: String { get }
    /// Whether writing it twice has the same effect as once.
    static var isRepeatable: Bool { get }
    /// The start of the receipt if the look of a first attempt finds it.
    static var foundAtFirst: String { get }

    /// The other side's time; nil if unknown.
    var time: Timestamp? { get }
    /// The state before the first request, with which later looks distinguish this write from others.
    var before: JSON? { get }

    mutating func look(_ occasion: LookOccasion) async throws(Failure) -> Look

    /// Sends it once; sends nothing after `notAfter`.
    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent
}

extension Write {
    static var isRepeatable: Bool { false }
    static var foundAtFirst: String { "there already" }
    var time: Timestamp? { nil }
    var before: JSON? { nil }
}

/// When a look is made.
enum LookOccasion: Sendable, Hashable {
    /// Before anything was sent.
    case first
    /// Before anything was sent, but the store has no record of this time: it may have been written then.
    case gap(Range<Timestamp>)
    /// An earlier attempt may have written it; reads at or after this moment would show it.
    case earlier(readSince: Timestamp?)
    /// After a request whose answer does not show whether it was written.
    case unanswered
    /// After an answer that says it was written: a single new entry is this one, even if its text was changed.
    case answered
}

/// The result of a look for the written data. A look that fails throws instead.
enum Look: Sendable, Hashable {
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

    init(_ text: String, reference: String? = nil) {
        self.text = text
        self.reference = reference
    }

    func receipt(_ summary: String) -> Receipt {
        Receipt([summary, text].filter { !$0.isEmpty }.joined(separator: ", "), reference: reference)
    }
}

/// The outcome of a request to write. A request that is refused or has no complete answer throws instead.
enum Sent: Sendable, Hashable {
    /// The answer itself is the proof.
    case proved(Receipt)
    /// The answer, such as `201`, is not a proof; `ifAbsent` is the message if a look finds nothing.
    case claimed(String, ifAbsent: String)
    /// It was certainly not written, and may be sent again at once.
    case notTaken
    /// It may have been written, and may be sent again if a look finds nothing.
    case unclear(Failure)
}

/// The facts that one attempt to write stores for the next attempt of the same delivery.
struct WriteNote: Sendable, Hashable {
    /// The other side's time before the first request; nil before anything was sent.
    var since: Timestamp?
    /// The start of an attempt about which a person has decided, so that it no longer prevents another one.
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

/// Stores a delivery's ``WriteNote`` until the write is proved or given up. The note is deleted with the delivery.
struct DeliveryNote: Sendable {
    private let notebook: any Notebook
    private let key: String

    init(of delivery: Delivery, in notebook: any Notebook) {
        self.notebook = notebook
        key = delivery.noteKey
    }

    /// The note for an attempt; empty for the first. A person's retry is a decision, which is stored at once.
    func read(at attempt: Attempt) async throws(Failure) -> WriteNote {
        if attempt.isFirst { return WriteNote() }
        var note: WriteNote
        do {
            note = WriteNote(json: try await notebook.note(key))
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The delivery's notes cannot be read: \(error).")
        }
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

    /// Deletes the note. Ignores failures, because a leftover note is harmless.
    func forget() async {
        do { try await notebook.setNote(key, to: nil) } catch { return }
    }
}

extension Delivery {
    /// The step's arguments, for an action without a message.
    func values() throws(Failure) -> JSON.Object {
        if case .values(let values) = arguments { return values }
        throw Failure(
            .badArguments, .giveUp,
            "This delivery does not contain what `\(action)` needs; it was made by another version of Bellhop.")
    }
}

/// Maps each remote entry that proves a write to its delivery, so that no entry proves two deliveries. An attempt itself has the
/// proofs from before this process began.
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
