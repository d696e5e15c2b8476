import BellhopCore

// The admin endpoint's JSON.

extension SimulatedTask {
    var json: JSON { .object(.init(fields.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })) }
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
            "omitted_fields": .array(omittedFields.sorted().map(JSON.string)),
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

extension ReceivedMessage {
    var json: JSON {
        let head: JSON.Object = ["receiver": .string(receiver), "status": .int(status), "reason": .optional(reason)]
        return .object(head.adding(request.json.asObject ?? [:]))
    }
}

extension ReceivedRequest {
    private static let leftOut = "(left out)"

    /// The request as the admin endpoint shows it: without credentials.
    var json: JSON {
        let shown = JSON.Object(headers.map { ($0.name, .string(Self.isSecret($0.name) ? Self.leftOut : $0.value)) })
        return [
            "method": .string(method), "path": .string(shownPath), "query": .string(shownQuery),
            "at": .string(CivilTime.text(time)), "micros": .int(time), "headers": .object(shown),
            "body": .string(isLogin ? Self.leftOut : text),
        ]
    }

    /// Whether a field or parameter of this name is a secret: tokens, keys, sessions, passwords.
    private static func isSecret(_ name: String) -> Bool {
        let word = name.lowercased().filter { $0 != "-" && $0 != "_" }
        if word == "idempotencykey" { return false }
        return word.hasSuffix("key")
            || ["auth", "cookie", "token", "secret", "password", "guid", "session"].contains { word.contains($0) }
    }

    private var isLogin: Bool {
        path == "/oauth_token.do" || path.hasSuffix("/az/v1/token") || path.hasPrefix("/API/Security.svc/SSO")
    }

    /// ETO's paths contain tokens, as GUIDs.
    private var shownPath: String {
        guard path.hasPrefix("/API/") else { return path }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            SimulatedETO.isGUID(String(part)) ? Self.leftOut : String(part)
        }
        return parts.joined(separator: "/")
    }

    private var shownQuery: String {
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let name = pair.prefix { $0 != "=" }
            return Self.isSecret(PercentEncoding.decode(name, plusIsSpace: true)) ? "\(name)=\(Self.leftOut)" : String(pair)
        }
        return pairs.joined(separator: "&")
    }
}
