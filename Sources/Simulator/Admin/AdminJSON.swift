// What the admin endpoint shows of things.

extension SimulatedTask {
    var json: JSON {
        .object(fields.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: .string($0.value)) })
    }
}

extension SimulatedUser {
    var json: JSON {
        [
            "sys_id": .string(id), "user_name": .string(userName), "name": .string(name), "email": .string(email),
            "active": .bool(isActive), "language": .string(language.rawValue), "utc_offset": .int(utcOffset),
            "may_use_tracker": .bool(mayUseTracker), "tasks": .string(tasks.rawValue), "journal": .string(journal.rawValue),
            "users": .string(users.rawValue), "work_notes": .string(workNotes.rawValue), "comments": .string(comments.rawValue),
            "updates": .string(updates.rawValue), "creates": .string(creates.rawValue),
            "attachments": .string(attachments.rawValue), "hidden_fields": .array(hiddenFields.sorted().map(JSON.string)),
            "read_only_fields": .array(readOnlyFields.sorted().map(JSON.string)), "roles": .array(roles.map(JSON.string)),
            "time_zone": .string(timeZone),
        ]
    }
}

extension JournalEntry {
    var json: JSON {
        [
            "sys_id": .string(id), "task": .string(task), "kind": .string(kind.rawValue), "text": .string(text),
            "by": .string(author), "at": .string(CivilTime.text(time)), "micros": .int(time),
        ]
    }
}

extension ReceivedRequest {
    private static let secret: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-sn-apikey", "x-usertoken", "x-api-key", "securitytoken",
        "enterpriseguid",
    ]

    /// Bodies that log somebody in.
    private var hasSecretBody: Bool { path == "/oauth_token.do" || path.hasPrefix("/API/Security.svc/SSOAuthenticate") }

    /// The path without tokens: ETO has them in it.
    private var shownPath: String {
        guard path.hasPrefix("/API/") else { return path }
        return "/" + segments.map { SimulatedETO.isGUID($0) ? "(left out)" : $0 }.joined(separator: "/")
    }

    func json(withBody: Bool) -> JSON {
        let shown = headers.map { header in
            let isSecret = ReceivedRequest.secret.contains(header.name.lowercased())
            return JSON.Member(name: header.name, value: .string(isSecret ? "(left out)" : header.value))
        }
        var members: [JSON.Member] = [
            .init(name: "method", value: .string(method)), .init(name: "path", value: .string(shownPath)),
            .init(name: "query", value: .string(query)), .init(name: "at", value: .string(CivilTime.text(time))),
            .init(name: "micros", value: .int(time)), .init(name: "headers", value: .object(shown)),
        ]
        if withBody { members.append(.init(name: "body", value: .string(hasSecretBody ? "(left out)" : text))) }
        return .object(members)
    }
}

extension ReceivedMessage {
    var json: JSON {
        let head: [JSON.Member] = [
            .init(name: "receiver", value: .string(receiver)), .init(name: "status", value: .int(status)),
            .init(name: "reason", value: .optional(reason)),
        ]
        return .object(head + (request.json(withBody: true).members ?? []))
    }
}
