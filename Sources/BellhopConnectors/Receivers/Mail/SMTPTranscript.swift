/// A server's answer to one command (RFC 5321, section 4.2).
struct SMTPReply: Sendable, Hashable {
    var code: Int
    var lines: [String]

    var isTemporary: Bool { 400..<500 ~= code || isQuota }
    /// Whether the account has sent as much as it may for now, which Gmail reports as final: `550 5.4.5 Daily user sending limit
    /// exceeded`. RFC 3463 knows this code only as temporary.
    var isQuota: Bool { lines.first?.hasPrefix("5.4.5 ") == true }
    /// How long to send nothing after that.
    static let quotaRest = Duration.seconds(3600)
    var isPositive: Bool { 200..<400 ~= code }

    /// The code and the text on one line, which begins with the enhanced code if the server sends one: `550 5.1.1 no such user`.
    var text: String { ([String(code)] + lines).joined(separator: " ") }
}

/// The lines of a dialogue with a mail server that decide its outcome. Holds no credentials.
struct SMTPTranscript: Sendable, Hashable {
    enum Step: Sendable, Hashable {
        case greeting, hello, startTLS, login, sender, recipient, data
        /// The mail itself; its reply says whether the server accepted it.
        case mail
        case quit, other
    }

    struct Exchange: Sendable, Hashable {
        var step: Step
        /// Nil if the server has not answered.
        var reply: SMTPReply?
    }

    /// Begins with the greeting, which the server sends without a command.
    private(set) var exchanges: [Exchange] = [Exchange(step: .greeting)]
    /// Whether the whole mail was handed to the library.
    private(set) var isSent = false
    /// Lines of an answer that has not ended.
    private var lines: [String] = []
    private var rest: [UInt8] = []

    /// The limits on a server's text.
    private static let longestLine = 2000
    private static let maxLines = 100

    mutating func sent(_ command: some Collection<UInt8>) {
        // A line of the login dialogue can look like any command.
        if let last = exchanges.last, last.step == .login, last.reply?.code == 334 {
            exchanges.append(Exchange(step: .login))
            return
        }
        let text = String(decoding: command.prefix(10), as: UTF8.self)
        let word = ASCII.lowercased(text.prefix { $0.isLetter })
        let step: Step =
            switch word {
            case "ehlo", "helo": .hello
            case "starttls": .startTLS
            case "mail": .sender
            case "rcpt": .recipient
            case "data": .data
            case "quit": .quit
            case "auth": .login
            default: .other
            }
        exchanges.append(Exchange(step: step))
    }

    mutating func mailWasSent() {
        guard !isSent else { return }
        isSent = true
        exchanges.append(Exchange(step: .mail))
    }

    mutating func received(_ bytes: some Sequence<UInt8>) {
        rest += bytes
        while let end = rest.firstIndex(of: 0x0a) {
            take(String(decoding: rest[..<end].prefix(Self.longestLine), as: UTF8.self))
            rest.removeSubrange(...end)
        }
    }

    private mutating func take(_ line: String) {
        let line = line.last == "\r" ? line.dropLast() : Substring(line)
        guard let code = Int(line.prefix(3)), 100...599 ~= code else { return }
        if lines.count < Self.maxLines { lines.append(String(line.dropFirst(4))) }
        // A hyphen after the code means that more lines follow.
        guard line.dropFirst(3).first != "-" else { return }
        let place = exchanges.firstIndex { $0.reply == nil } ?? exchanges.indices.last ?? 0
        exchanges[place].reply = SMTPReply(code: code, lines: lines)
        lines = []
    }

    /// The last reply in a step; nil if there is none.
    func reply(_ step: Step) -> SMTPReply? { exchanges.last { $0.step == step }?.reply }

    /// The replies to the recipients, in their order; fewer if the dialogue ended earlier.
    var recipients: [SMTPReply] { exchanges.filter { $0.step == .recipient }.compactMap(\.reply) }

    /// Whether the server refused each of this many recipients, after which the library ends the dialogue.
    func refusesAll(_ count: Int) -> Bool {
        let answers = recipients
        return count > 0 && answers.count == count && reply(.data) == nil && !answers.contains(where: \.isPositive)
    }

    /// Whether the server's latest answer to a recipient says that it closes the connection.
    var closes: Bool { recipients.last?.code == 421 }

    /// Whether the dialogue ended because the server does not know EHLO (RFC 5321, section 3.2), and with it neither STARTTLS nor a login.
    /// Where TLS is not required, the library then says HELO.
    var lacksHello: Bool {
        guard let last = exchanges.last(where: { $0.step != .quit }), last.step == .hello, let reply = last.reply else {
            return false
        }
        return [500, 502].contains(reply.code) && exchanges.count { $0.step == .hello } == 1
    }

    /// Whether the server may have accepted the mail without saying so.
    var mayHaveArrived: Bool { isSent && reply(.mail) == nil }
}
