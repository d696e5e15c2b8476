import BellhopCore

extension AdminAPI {
    static let helpOnMail = """
        GET    /simulator/mail                the received mails
        DELETE /simulator/mail
        GET    /simulator/mail/settings       how the mail server answers, without passwords
        PATCH  /simulator/mail/settings       accounts: {"user": "password"}, mechanisms: ["PLAIN"], needs_tls, recipients: {"address": "550 5.1.1 No"},
                                              greeting, login, sender, data, end: "451 4.3.0 Later" or null; cut: \(SimulatedMail.Cut.allCases.map(\.rawValue).joined(separator: ", ")) or null;
                                              delay (ms before each answer), most_recipients, largest (bytes)

        """

    func mail(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        switch (request.method, path.dropFirst().first, path.count) {
        case ("GET", nil, 1): return .json(200, .array(simulation.mail.received.map(\.json)))
        case ("DELETE", nil, 1):
            simulation.mail.clear()
            return Reply(204)
        case ("GET", "settings", 2): return .json(200, simulation.mail.settings.json)
        case ("PATCH", "settings", 2):
            var settings = simulation.mail.settings
            var form = try AdminForm(request)
            try settings.read(&form)
            try form.end()
            simulation.mail.settings = settings
            return .json(200, settings.json)
        default: throw AdminAPI.unknown(request)
        }
    }
}

extension SimulatedMail.Settings {
    private static let replies: [(name: String, any WritableKeyPath<Self, SimulatedMail.Reply?> & Sendable)] = [
        ("greeting", \.greeting), ("login", \.login), ("sender", \.sender), ("data", \.data), ("end", \.end),
    ]

    fileprivate mutating func read(_ form: inout AdminForm) throws(AdminProblem) {
        if let value = try form.values("accounts") { accounts = value }
        if let value = try form.texts("mechanisms") { mechanisms = value }
        if let value = try form.bool("needs_tls") { needsTLS = value }
        if let value = try form.values("recipients") {
            for reply in value.values { try Self.check(reply) }
            recipients = value
        }
        for (name, reply) in Self.replies where form.has(name) {
            let text = try form.text(name)
            if let text { try Self.check(text) }
            self[keyPath: reply] = text
        }
        if form.has("cut") { cut = try form.choice("cut", SimulatedMail.Cut.self) }
        if let value = try form.int("delay") { delay = max(value, 0) }
        if let value = try form.int("most_recipients") { maxRecipients = value }
        if let value = try form.int("largest") { largest = value }
    }

    /// A reply begins with its code; a line break in it would be another reply.
    private static func check(_ reply: String) throws(AdminProblem) {
        guard let code = Int(reply.prefix(3)), 200..<600 ~= code, !reply.unicodeScalars.contains(where: { $0.value < 0x20 })
        else { throw AdminProblem(message: "'\(reply)' is not a reply of a mail server, such as 550 5.1.1 No such user") }
    }

    fileprivate var json: JSON {
        var json: JSON.Object = [
            "accounts": .array(accounts.keys.sorted().map(JSON.string)), "mechanisms": .array(mechanisms.map(JSON.string)),
            "needs_tls": .bool(needsTLS),
            "recipients": .object(.init(recipients.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })),
            "cut": .optional(cut?.rawValue), "delay": .int(Int64(delay)), "most_recipients": .int(Int64(maxRecipients)),
            "largest": .int(Int64(largest)),
        ]
        for (name, reply) in Self.replies { json[name] = .optional(self[keyPath: reply]) }
        return .object(json)
    }
}
