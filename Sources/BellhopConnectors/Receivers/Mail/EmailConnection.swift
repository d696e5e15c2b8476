import BellhopCore

/// Mail to one or several people, over SMTP.
struct EmailConnection: MessageReceiver, Connection {
    static let kind = ConnectionKind(
        ConnectionManifest(
            kind: "email", summary: "Mail to one or several addresses, through an SMTP server.",
            actions: [NotifyAction.manifest.kind], messages: abilities,
            limits: declared, settings: settings, starter: ["url", "username", "password", "from", "to"]),
        login: { settings in
            settings.text("username") == nil ? .none("without a `username` there is no login") : .configured
        },
        makeReportingAll: { name, settings, environment throws(ConnectorErrors) in
            try EmailConnection(name: name, settings: settings, in: environment)
        },
        body: { message, delivery, settings in
            var mail = EmailRenderer.render(message, from: MessageOrigin(delivery))
            mail["from"] = settings.values["from"]
            mail["to"] = settings.values["to"]
            return mail
        })

    /// Servers accept few connections of one client at once.
    private static let declared = DeliveryLimits(concurrency: 2)
    private static let abilities = MessageAbilities(threads: .yes)

    private static let settings = [
        Setting(
            "url", .text, required: true,
            "The mail server: smtp://host:587 (with STARTTLS), or smtps://host for TLS from the first byte.",
            example: "url: smtp://smtp.example.com:587"),
        Setting(
            "username", .text,
            "The account's user name, if the server asks for one; if not, delete `username` and `password`.",
            example: "username: bellhop"),
        Setting("password", .secret, "The account's password."),
        Setting(
            "from", .text, required: true, "The sender: bellhop@example.com or Bellhop <bellhop@example.com>.",
            example: "from: Bellhop <bellhop@example.com>"),
        Setting("to", .list(.text), required: true, "The recipients.", example: "to: [ops@example.com]"),
        Setting(
            "starttls", .oneOf(["required", "off"]),
            "Whether smtp:// is upgraded to TLS: required, except that it is off by default for a server on this machine. "
                + "A server without EHLO has no STARTTLS."),
        Setting("hello", .text, "The name by which Bellhop greets the server (EHLO); by default the domain of `from`."),
        Setting("ca", .path, "A PEM file with certificate authorities to trust in addition to the system's."),
        Setting(
            "timeout", .duration, default: "2m", least: "1ms",
            "The time limit of a mail, from the connection to the answer; some servers delay the answer to check the mail."),
        Setting("rate", .rate, "The maximum rate of mails, such as 60/m."),
    ]

    private let name: String
    private let configuration: SMTPConfiguration
    private let label: SMTPLabel
    private let from: MailAddress
    private let to: [MailAddress]
    private let deliveries: DeliverySettings
    private let limiter: RateLimiter?
    private let notebook: any Notebook
    private let clock: any AgentClock

    /// - Parameter settings: checked against the manifest.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorErrors) {
        self.name = name
        notebook = environment.notebook
        clock = environment.clock
        var problems = ConnectorProblems(of: name)
        let sender = problems.gather("from") { () throws(InvalidValue) in try MailAddress(settings.text("from") ?? "") }
        var recipients: [MailAddress] = []
        for text in settings.texts("to") {
            guard let recipient = problems.gather("to", { () throws(InvalidValue) in try MailAddress(text) }) else { continue }
            if !recipients.contains(where: { $0.text == recipient.text }) { recipients.append(recipient) }
        }
        if settings.texts("to").isEmpty { problems.add("to", "Name at least one recipient.") }
        let server = problems.gather("url") { () throws(InvalidValue) in try SMTPAddress(settings.text("url") ?? "") }
        let isOff = settings.text("starttls").map { $0 == "off" } ?? (server?.isLoopback == true)
        if let server, isOff, !server.isSecure, !server.isLoopback {
            problems.add(
                "starttls",
                "Mail and passwords to \(server.place) could be read by others: STARTTLS can be off only for a server on this machine."
            )
        }
        let greeting = settings.text("hello").flatMap { name in
            problems.gather("hello") { () throws(InvalidValue) in try Self.hostName(name) }
        }
        var login: SMTPConfiguration.Login?
        switch (settings.text("username"), settings.text("password")) {
        case (let username?, let password?): login = .init(username: username, password: password)
        case (nil, nil): break
        case (nil, _?): problems.add("username", "A `password` needs a `username`.")
        case (_?, nil): problems.add("password", "A `username` needs a `password`.")
        }
        guard let address = server, let sender, problems.all.isEmpty else { throw ConnectorErrors(problems.all) }
        from = sender
        to = recipients
        configuration = SMTPConfiguration(
            address: address, upgrades: !address.isSecure && !isOff, login: login, ca: settings.text("ca"),
            timeout: settings.duration("timeout") ?? .seconds(120), helloName: greeting ?? from.host)
        label = SMTPLabel(name: name, configuration)
        deliveries = DeliverySettings(settings)
        limiter = environment.rates.limiter(name, settings.record("rate").flatMap(Rate.init))
    }

    private static func hostName(_ text: String) throws(InvalidValue) -> String {
        let host = ASCII.lowercased(text)
        guard (try? MailAddress("bellhop@\(host)"))?.host == host else {
            throw InvalidValue(message: "Write the name of a host, such as bellhop.example.com.")
        }
        return host
    }

    var limits: ReceiverLimits { deliveries.limits(Self.declared, rate: limiter) }

    func action(_ kind: String) -> (any Action)? { kind == NotifyAction.manifest.kind ? NotifyAction(self) : nil }

    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let id = MessageID(delivery: delivery.id.text, host: from.host)
        // Without an id, a connection of another kind that had this name began the conversation. A first mail that a person retries, because
        // only some recipients have it, does not answer itself.
        var first = attempt.firstMessage
        if first?["message_id"] == nil || first?["message_id"] == .string(id.text) { first = nil }
        let place = MessagePlace(message, firstMessage: first, Self.abilities)
        let mail = mail(EmailRenderer.render(message, from: MessageOrigin(delivery)), message, delivery, id, at: place)
        let bytes: [UInt8]
        do throws(MailHeaderValue.Refused) { bytes = try mail.bytes() } catch {
            throw Failure(.unrenderable, .giveUp, "A header of the mail would contain a line break or another control character.")
        }
        let conversation = place.change(
            message, reference: ["message_id": .string(mail.id.text), "subject": .string(mail.subject)])
        // A person's retry restarts the count of attempts, but earlier acceptances remain valid.
        let done = attempt.firstStarted == nil ? [] : try await accepted(delivery)
        let waiting = to.map(\.text).filter { !done.contains($0) }
        if waiting.isEmpty {
            return Receipt("accepted for all recipients by earlier attempts, from \(label.text)", conversation: conversation)
        }
        var haveIt = done
        do throws(Failure) {
            try await waitForTurn()
            let ending = try await transfer(.send(from: from.text, to: waiting, mail: bytes))
            let outcome = try SMTPOutcome(ending, recipients: waiting, othersHaveIt: !done.isEmpty, server: label)
            haveIt += outcome.accepted
            guard outcome.refused.isEmpty, let receipt = outcome.receipt else {
                throw try await incomplete(outcome, haveIt, delivery)
            }
            return Receipt("\(label.words(of: receipt)), from \(label.text)", conversation: conversation)
        } catch {
            var failure = error
            // Those who have the mail get the later ones as answers to it, also if it is given up.
            if !haveIt.isEmpty { failure.conversation = conversation }
            throw failure
        }
    }

    /// A reply has the first mail's subject, by which some programs group conversations.
    private func mail(_ rendered: JSON, _ message: Message, _ delivery: Delivery, _ id: MessageID, at place: MessagePlace) -> Mail
    {
        var thread: MessageID?
        var subject = rendered["subject"].textOrEmpty
        if case .reply(let first) = place {
            thread = first["message_id"]?.asString.flatMap { MessageID($0) }
            subject = first["subject"]?.asString ?? subject
        }
        return Mail(
            id: id, time: delivery.createdAt, from: from, to: to,
            subject: subject, thread: thread, list: name, rule: delivery.id.rule,
            isUrgent: message.severity == .error || message.severity == .critical, text: rendered["text"].textOrEmpty,
            html: rendered["html"].textOrEmpty)
    }

    private func waitForTurn() async throws(Failure) {
        do { try await limiter?.wait() } catch {
            throw Failure(.interrupted, .retry(after: nil), "The mail was cancelled before it was sent.")
        }
    }

    private func transfer(_ work: SMTPTransfer.Work) async throws(Failure) -> SMTPEnding {
        do throws(CurlLibrary.Missing) {
            return await SMTPTransfer(configuration, work, with: try CurlLibrary.load()).run()
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "\(name): \(error.message)")
        }
    }

    // MARK: Recipients

    /// The recipients that the server accepted in earlier attempts, which must not get the mail again.
    private func accepted(_ delivery: Delivery) async throws(Failure) -> [String] {
        try await DeliveryNote(of: delivery, in: notebook).stored()?["accepted"]?.asArray?.compactMap(\.asString) ?? []
    }

    /// The failure of a mail that was accepted only for some recipients, which are stored.
    private func incomplete(_ outcome: SMTPOutcome, _ done: [String], _ delivery: Delivery) async throws(Failure) -> Failure {
        do {
            try await notebook.setNote(delivery.noteKey, to: ["accepted": .array(done.map(JSON.string))])
        } catch {
            throw Failure(
                .fileSystem, .retry(after: nil),
                "\(label.text) accepted the mail for \(done.joined(separator: ", ")), which cannot be stored: \(error).")
        }
        let words = outcome.refused.map { "\($0.recipient) (\(label.words(of: $0.reply)))" }.joined(separator: ", ")
        let rest = "\(label.text) accepted the mail for \(done.joined(separator: ", ")) and refused \(words)."
        guard outcome.refused.contains(where: \.reply.isTemporary) else { return Failure(.refused, .giveUp, rest) }
        // Not `dropped`: the server takes mail, so that the mails behind this one need not wait for its circuit breaker.
        var failure = Failure(.refused, .retry(after: nil), rest + " It is sent again to those it refused.")
        if outcome.refused.contains(where: \.reply.isQuota) {
            // The attempt counts, unlike one with the remedy `.rest`: the next one must not be a first one, which reads no recipients.
            (failure.reason, failure.remedy) = (.throttled, .retry(after: SMTPReply.quotaRest))
            failure.rest = SMTPReply.quotaRest
        }
        return failure
    }

    // MARK: Examination

    func verifyLogin(_ needs: ConnectionNeeds) async throws(Failure) -> LoginTrial {
        let ending = try await transfer(.tryLogin)
        guard ending.cause == .completed else { throw SMTPOutcome.failure(ending, [], label) }
        // A server without AUTH, or without EHLO, takes mail from anyone.
        return LoginTrial(user: ending.transcript.reply(.login) == nil ? nil : configuration.login?.username)
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        do throws(Failure) {
            let trial = try await verifyLogin(needs)
            let way = configuration.address.isSecure || configuration.upgrades ? "over TLS" : "without TLS, on this machine"
            let answers = "\(configuration.address.place) answers \(way)"
            if configuration.login != nil, trial.user == nil {
                return [Finding("mail", .note, "\(answers), but offers no login: it gets mail without `username`")]
            }
            return [Finding("mail", .ok, "\(answers), \(trial.user.map { "logged in as \($0)" } ?? "without a login")")]
        } catch {
            return [Finding("mail", error)]
        }
    }

    func shutdown() async throws {}
}
