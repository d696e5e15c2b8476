import BellhopCore

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
