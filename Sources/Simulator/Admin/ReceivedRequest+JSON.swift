extension ReceivedRequest {
    private static let leftOut = "(left out)"

    /// The request as the admin endpoint shows it: without credentials.
    func json(withBody: Bool) -> JSON {
        let shown = headers.map { header in
            JSON.Member(name: header.name, value: .string(Self.isSecret(header.name) ? Self.leftOut : header.value))
        }
        var members: [JSON.Member] = [
            .init(name: "method", value: .string(method)), .init(name: "path", value: .string(shownPath)),
            .init(name: "query", value: .string(shownQuery)), .init(name: "at", value: .string(CivilTime.text(time))),
            .init(name: "micros", value: .int(time)), .init(name: "headers", value: .object(shown)),
        ]
        if withBody { members.append(.init(name: "body", value: .string(isLogin ? Self.leftOut : text))) }
        return .object(members)
    }

    /// Whether a field or parameter of this name is a secret: tokens, keys, sessions, passwords.
    private static func isSecret(_ name: String) -> Bool {
        let word = name.lowercased().filter { $0 != "-" && $0 != "_" }
        if word == "idempotencykey" { return false }
        return word.hasSuffix("key")
            || ["auth", "cookie", "token", "secret", "password", "guid", "session"].contains { word.contains($0) }
    }

    /// Whether the body is a login.
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
            return Self.isSecret(PercentCoding.decodeForm(name)) ? "\(name)=\(Self.leftOut)" : String(pair)
        }
        return pairs.joined(separator: "&")
    }
}
