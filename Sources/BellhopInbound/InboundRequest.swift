/// A request from another system, with its whole body.
public struct InboundRequest: Sendable {
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    /// The value of a header field; names compare without regard to case. Nil if the field is missing or repeated: with
    /// several values, another program might use a different one.
    func value(_ name: String) -> String? {
        let name = name.lowercased()
        // Counting first saves making most names lower case.
        let found = headers.filter { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name }
        return found.count == 1 ? found[0].value : nil
    }

    /// The reason why ``value(_:)`` of a header field is nil.
    func problem(with name: String) -> String {
        "The header field `\(name)` is \(isRepeated(name) ? "given more than once" : "missing")."
    }

    func isRepeated(_ name: String) -> Bool {
        value(name) == nil && headers.contains { $0.name.lowercased() == name.lowercased() }
    }
}

/// The answer to the sender.
public struct InboundAnswer: Error, Sendable, Hashable {
    public var status: Int
    /// One sentence, without secrets; with 200, the text that the sender wants back.
    public var text: String
    /// Seconds.
    public var retryAfter: Int?
    /// The value of `WWW-Authenticate`: some senders, such as Amazon SNS, send a password only when they are asked for one.
    var challenge: String?
    var isToKnownSender = false

    public init(_ status: Int, _ text: String, retryAfter: Int? = nil) {
        self.status = status
        self.text = text
        self.retryAfter = retryAfter
    }

    /// What is sent: a line for people, or exactly what the sender wants back.
    var body: String { status == 200 ? text : text + "\n" }

    static let accepted = InboundAnswer(202, "Accepted.")
}
