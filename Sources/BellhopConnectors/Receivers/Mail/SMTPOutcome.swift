import BellhopCore

/// The outcome of a dialogue with a mail server for a delivery.
struct SMTPOutcome: Sendable, Hashable {
    struct Refusal: Sendable, Hashable {
        var recipient: String
        var reply: SMTPReply
    }

    var accepted: [String] = []
    var refused: [Refusal] = []
    /// The server's answer to the mail; nil if it refused all of these recipients.
    var receipt: SMTPReply?

    /// - Parameters:
    ///   - recipients: in the order in which the server got them.
    ///   - othersHaveIt: whether earlier attempts sent the mail to other recipients. A refusal then is no trouble of the server.
    /// - Throws: if the server accepted the mail for no recipient at all, or did not say whether it accepted it.
    init(_ ending: SMTPEnding, recipients: [String], othersHaveIt: Bool, server: SMTPLabel) throws(Failure) {
        let transcript = ending.transcript
        let isAccepted = transcript.reply(.mail)?.isPositive == true
        guard isAccepted || othersHaveIt && transcript.refusesAll(recipients.count) && !transcript.closes else {
            throw Self.failure(ending, recipients, server)
        }
        receipt = transcript.reply(.mail)
        for (recipient, reply) in zip(recipients, transcript.recipients) {
            if reply.isPositive {
                accepted.append(recipient)
            } else {
                refused.append(Refusal(recipient: recipient, reply: reply))
            }
        }
    }

    /// The failure of a dialogue in which the server accepted nothing.
    static func failure(_ ending: SMTPEnding, _ recipients: [String], _ server: SMTPLabel) -> Failure {
        let transcript = ending.transcript
        if let refusal = refusal(transcript, recipients, server) { return refusal }
        let again = Failure.Remedy.retry(after: nil)
        if transcript.mayHaveArrived {
            return Failure(
                ending.cause == .timeout ? .timeout : .cut, again,
                "\(server.text) did not say whether it accepted the mail: it is sent again with the same Message-ID.")
        }
        let place = server.place
        switch ending.cause {
        case .unknownHost:
            return Failure(
                .unreachable, again,
                "\(server.name): There is no host named \(server.host); DNS does not know it or cannot be reached.")
        case .unreachable: return Failure(.unreachable, again, "\(server.name): No connection to \(place).")
        case .timeout:
            let isSilent = transcript.reply(.greeting) == nil
            let missing = isSilent ? "answer in time" : "finish the dialogue within \(server.timeout.plain)"
            return Failure(.timeout, again, "\(server.name): \(place) did not \(missing).")
        case .noTLS:
            return Failure(
                .tls, again,
                "\(server.name): \(place) does not offer STARTTLS, and mail is not sent over the network without TLS.")
        case .tls: return Failure(.tls, again, "\(server.name): No TLS connection to \(place): the handshake failed.")
        case .untrustedCertificate:
            return Failure(
                .tls, again,
                "\(server.name): This machine does not trust the certificate of \(place): it may have expired, or come from a private authority, which `ca` can name."
            )
        case .badAuthorities: return Failure(.tls, .giveUp, "\(server.name): No certificates can be read from the file in `ca`.")
        case .loginRefused:
            return Failure(
                .unauthenticated, .pauseReceiver,
                "\(server.text) offers none of the ways to log in that Bellhop knows (PLAIN and LOGIN), or refused the login.")
        case .cancelled: return Failure(.interrupted, again, "The dialogue with \(place) was cancelled.")
        case .completed, .cut:
            return Failure(.cut, again, "\(server.name): \(place) closed the connection before it accepted the mail.")
        }
    }

    /// The failure of the reply that ended the dialogue; nil if no reply did.
    private static func refusal(_ transcript: SMTPTranscript, _ recipients: [String], _ server: SMTPLabel) -> Failure? {
        // If all recipients are refused, the library ends the dialogue.
        if transcript.refusesAll(recipients.count) {
            let answers = transcript.recipients
            if let deferred = answers.first(where: \.isTemporary) { return failure(of: deferred, to: "the recipients", server) }
            let words = zip(recipients, answers).map { "\($0) (\(server.words(of: $1)))" }
            return Failure(.refused, .giveUp, "\(server.text) refused all recipients: \(words.joined(separator: ", ")).")
        }
        guard let last = transcript.exchanges.last(where: { $0.reply != nil && $0.step != .quit }), let reply = last.reply,
            !reply.isPositive
        else { return nil }
        if transcript.lacksHello {
            return Failure(
                .tls, .retry(after: nil),
                "\(server.text) does not know EHLO (\(server.words(of: reply))), so it has no STARTTLS, and mail is not sent over the network without TLS."
            )
        }
        return switch last.step {
        case .greeting, .hello, .startTLS, .quit, .other: failure(of: reply, to: "the connection", server)
        case .login:
            reply.isTemporary
                ? failure(of: reply, to: "the login", server)
                : Failure(
                    .unauthenticated, .pauseReceiver,
                    "\(server.text) refused the login: \(server.words(of: reply)). Check `username` and `password`.")
        case .sender: failure(of: reply, to: "the sender", server)
        // The library goes on after it, so it ended the dialogue only if the server closed the connection with it.
        case .recipient: transcript.closes ? failure(of: reply, to: "the recipients", server) : nil
        case .data, .mail: failure(of: reply, to: "the mail", server)
        }
    }

    private static func failure(of reply: SMTPReply, to what: String, _ server: SMTPLabel) -> Failure {
        let message = "\(server.text) answered \(what) with \(server.words(of: reply))."
        if reply.isQuota {
            return Failure(.throttled, .rest(SMTPReply.quotaRest), message + " The account has sent as much as it may for now.")
        }
        switch reply.code {
        // The server closes the connection, often because there are too many.
        case 421: return Failure(.throttled, .rest(nil), message)
        case 400..<500: return Failure(.dropped, .retry(after: nil), message)
        // Authentication is required, too weak, or its mechanism needs TLS.
        case 530, 534, 535, 538: return Failure(.unauthenticated, .pauseReceiver, message + " Check `username` and `password`.")
        case 552: return Failure(.tooLarge, .giveUp, message)
        default: return Failure(.refused, .giveUp, message)
        }
    }
}

/// A mail server's name and address for messages.
struct SMTPLabel: Sendable, Hashable {
    /// The connection's.
    var name: String
    var host: String
    var place: String
    var timeout: Duration
    /// Secrets that the server's replies might repeat.
    var secrets: [String]

    init(name: String, _ configuration: SMTPConfiguration) {
        self.name = name
        host = configuration.address.host
        place = configuration.address.place
        timeout = configuration.timeout
        secrets =
            configuration.login.map { login in
                // As AUTH LOGIN and AUTH PLAIN send it.
                let sent = [login.password, "\0\(login.username)\0\(login.password)"].map { Base64.encode(Array($0.utf8)) }
                return [login.password] + sent
            } ?? []
    }

    var text: String { "\(name) (\(place))" }

    /// The server's own words, on one line and without secrets.
    func words(of reply: SMTPReply) -> String {
        var words = Redaction.line(reply.text, hiding: secrets, length: 160)
        if words.last == "." { words.removeLast() }
        return words
    }
}
