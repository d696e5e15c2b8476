import BellhopAgent

extension ConsoleRole {
    /// Whether this role has the rights of another one.
    func includes(_ other: ConsoleRole) -> Bool { rank >= other.rank }

    private var rank: Int {
        switch self {
        case .viewer: 0
        case .operator: 1
        case .admin: 2
        }
    }
}

/// The user who made a request.
struct Visitor: Sendable, Hashable {
    var name: String
    var role: ConsoleRole
    /// The session of a browser; nil for a program with a token.
    var session: Session?

    struct Session: Sendable, Hashable {
        /// The secret of the cookie.
        var id: String
        /// Each request that changes something must contain this token (CSRF protection).
        var formToken: String
    }

    /// - Throws: 403 if the role does not suffice.
    func require(_ needed: ConsoleRole) throws(Problem) {
        guard role.includes(needed) else {
            throw Problem(403, "This needs the role `\(needed.rawValue)`; yours is `\(role.rawValue)`.")
        }
    }
}
