import BellhopCore

/// One client's dialogue with a mail server (RFC 5321, RFC 3207, RFC 4954): reads lines and returns the answers.
///
/// As strict as the strictest servers: refuses long lines, bare line feeds, 8-bit bytes that the client did not announce, and
/// commands out of order.
struct SMTPDialogue: Sendable {
    enum Step: Sendable, Hashable {
        /// Lines without their CR LF.
        case say([String])
        case startTLS
        /// Ends the connection.
        case close
        /// Sends nothing more and keeps the connection open.
        case hang
    }

    private enum Phase: Sendable, Hashable {
        case command
        /// Waits for the user's name and password in Base64: AUTH PLAIN sends both in one line, AUTH LOGIN one after the other.
        case plain, name
        case password(user: String)
        case mail
    }

    private let mail: SimulatedMail
    private let offersTLS: Bool
    private var phase = Phase.command
    private var client: String?
    private var user: String?
    private var isEncrypted = false
    private var sender: String?
    private var recipients: [String] = []
    private var content: [UInt8] = []
    private var fault: String?

    private static let longestCommand = 512
    /// Without the CR LF (RFC 5321, section 4.5.3.1.6).
    private static let longestLine = 998

    init(_ mail: SimulatedMail, offersTLS: Bool) { (self.mail, self.offersTLS) = (mail, offersTLS) }

    private var settings: SimulatedMail.Settings { mail.settings }

    func greet() -> [Step] {
        let settings = settings
        if settings.cut == .atOnce { return [.close] }
        guard let greeting = settings.greeting else { return [.say(["220 mail.simulator ESMTP"])] }
        return greeting.hasPrefix("2") ? [.say([greeting])] : [.say([greeting]), .close]
    }

    /// Must be called after the TLS handshake. The client must then send EHLO again.
    mutating func startEncryption() {
        isEncrypted = true
        client = nil
        resetMail()
    }

    /// - Parameter line: without its line feed.
    mutating func take(_ line: [UInt8]) -> [Step] {
        if phase == .mail { return takeMail(line) }
        guard line.last == 0x0d, line.count < Self.longestCommand else {
            return [.say(["500 5.5.2 Line too long or without CR"])]
        }
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        switch phase {
        case .plain: return logIn(plain: text)
        case .name:
            phase = .password(user: String(decoding: Base64.decode(text) ?? [], as: UTF8.self))
            return [.say(["334 UGFzc3dvcmQ6"])]
        case .password(let user): return logIn(user, String(decoding: Base64.decode(text) ?? [], as: UTF8.self))
        case .command, .mail: return command(text)
        }
    }

    private mutating func command(_ line: String) -> [Step] {
        let word = line.prefix { $0 != " " }.uppercased()
        let rest = line.dropFirst(word.count).drop { $0 == " " }
        switch word {
        case "EHLO", "HELO":
            guard !rest.isEmpty else { return [.say(["501 5.5.4 Who are you?"])] }
            client = String(rest)
            resetMail()
            return [.say(word == "HELO" ? ["250 mail.simulator"] : capabilities)]
        case "STARTTLS":
            guard offersTLS, !isEncrypted else { return [.say(["502 5.5.1 TLS is not available"])] }
            return [.say(["220 2.0.0 Ready to start TLS"]), .startTLS]
        case "AUTH": return authenticate(rest)
        case "MAIL": return begin(rest)
        case "RCPT": return add(rest)
        case "DATA":
            guard sender != nil else { return [.say(["503 5.5.1 MAIL first"])] }
            guard !recipients.isEmpty else { return [.say(["554 5.5.1 No valid recipients"])] }
            if let reply = settings.data { return end([reply]) }
            phase = .mail
            return [.say(["354 End data with <CR><LF>.<CR><LF>"])]
        case "RSET":
            resetMail()
            return [.say(["250 2.0.0 Ok"])]
        case "NOOP": return [.say(["250 2.0.0 Ok"])]
        case "QUIT": return [.say(["221 2.0.0 Bye"]), .close]
        default: return [.say(["500 5.5.2 Unknown command"])]
        }
    }

    private var capabilities: [String] {
        var lines = ["mail.simulator", "SIZE \(settings.largest)", "ENHANCEDSTATUSCODES"]
        if offersTLS, !isEncrypted { lines.append("STARTTLS") }
        if !settings.accounts.isEmpty, !settings.needsTLS || isEncrypted {
            lines.append("AUTH " + settings.mechanisms.joined(separator: " "))
        }
        return lines.enumerated().map { "250" + ($0 == lines.count - 1 ? " " : "-") + $1 }
    }

    // MARK: Login

    private mutating func authenticate(_ text: Substring) -> [Step] {
        if settings.needsTLS, !isEncrypted { return [.say(["530 5.7.0 Must issue a STARTTLS command first"])] }
        let words = text.split(separator: " ")
        switch words.first?.uppercased() {
        case "PLAIN" where words.count > 1: return logIn(plain: String(words[1]))
        case "PLAIN":
            phase = .plain
            return [.say(["334 "])]
        case "LOGIN":
            phase = .name
            return [.say(["334 VXNlcm5hbWU6"])]
        default: return [.say(["504 5.5.4 Unrecognized authentication type"])]
        }
    }

    private mutating func logIn(plain text: String) -> [Step] {
        let parts = (Base64.decode(text) ?? []).split(separator: 0, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            phase = .command
            return [.say(["501 5.5.2 Cannot decode"])]
        }
        return logIn(String(decoding: parts[1], as: UTF8.self), String(decoding: parts[2], as: UTF8.self))
    }

    private mutating func logIn(_ name: String, _ password: String) -> [Step] {
        phase = .command
        if let reply = settings.login { return [.say([reply])] }
        guard settings.accounts[name] == password else {
            return [.say(["535-5.7.8 Username and password not accepted.", "535 5.7.8 Learn more elsewhere"])]
        }
        user = name
        return [.say(["235 2.7.0 Authentication successful"])]
    }

    // MARK: The mail

    private mutating func begin(_ text: Substring) -> [Step] {
        let settings = settings
        guard client != nil else { return [.say(["503 5.5.1 EHLO first"])] }
        if settings.needsTLS, !isEncrypted { return [.say(["530 5.7.0 Must issue a STARTTLS command first"])] }
        if !settings.accounts.isEmpty, user == nil { return [.say(["530 5.7.0 Authentication required"])] }
        guard sender == nil, text.uppercased().hasPrefix("FROM:"), let address = Self.path(text.dropFirst(5)) else {
            return [.say(["501 5.5.4 Syntax: MAIL FROM:<address>"])]
        }
        if let size = text.split(separator: " ").first(where: { $0.uppercased().hasPrefix("SIZE=") }).flatMap({
            Int($0.dropFirst(5))
        }),
            size > settings.largest
        {
            return [.say(["552 5.3.4 Message size exceeds fixed limit"])]
        }
        if let reply = settings.sender { return end([reply]) }
        sender = address
        return [.say(["250 2.1.0 Ok"])]
    }

    private mutating func add(_ text: Substring) -> [Step] {
        let settings = settings
        guard sender != nil else { return [.say(["503 5.5.1 MAIL first"])] }
        guard text.uppercased().hasPrefix("TO:"), let address = Self.path(text.dropFirst(3)), address.contains("@") else {
            return [.say(["501 5.1.3 Bad recipient address syntax"])]
        }
        if let reply = settings.recipients[address] { return end([reply]) }
        guard recipients.count < settings.maxRecipients else { return [.say(["452 4.5.3 Too many recipients"])] }
        recipients.append(address)
        return [.say(["250 2.1.5 Ok"])]
    }

    private mutating func takeMail(_ line: [UInt8]) -> [Step] {
        if line == [0x2e, 0x0d] { return finish() }
        if settings.cut == .inMail, content.count > 64 { return [.close] }
        if line.last != 0x0d { fault = fault ?? "521 5.5.2 Error: bare <LF> received" }
        if line.count > Self.longestLine + 1 { fault = fault ?? "554 5.6.0 Line too long" }
        if line.contains(where: { $0 >= 0x80 || $0 == 0 }) { fault = fault ?? "554 5.6.1 8-bit data without 8BITMIME" }
        content += line.first == 0x2e ? line.dropFirst() : line[...]
        content.append(0x0a)
        if content.count > settings.largest { fault = fault ?? "552 5.3.4 Message too big" }
        return []
    }

    private mutating func finish() -> [Step] {
        let settings = settings
        phase = .command
        defer { resetMail() }
        if let reply = fault ?? settings.end { return end([reply]) }
        mail.keep(
            ReceivedMail(
                client: client ?? "", sender: sender ?? "", recipients: recipients, user: user, isEncrypted: isEncrypted,
                bytes: content, time: mail.now()))
        switch settings.cut {
        case .afterMail?: return [.close]
        case .silentAfterMail?: return [.hang]
        case .atOnce?, .inMail?, nil: return [.say(["250 2.0.0 Ok: queued as \(mail.received.count)"])]
        }
    }

    /// A server that answers 421 closes the connection.
    private func end(_ lines: [String]) -> [Step] {
        lines.last?.hasPrefix("421") == true ? [.say(lines), .close] : [.say(lines)]
    }

    private mutating func resetMail() {
        sender = nil
        recipients = []
        content = []
        fault = nil
    }

    /// The address in `<…>`.
    private static func path(_ text: Substring) -> String? {
        let text = text.drop { $0 == " " }
        guard text.first == "<", let end = text.firstIndex(of: ">") else { return nil }
        return String(text[text.index(after: text.startIndex)..<end])
    }
}
