import BellhopAgent
import BellhopCore
import Crypto
import Synchronization

/// Authenticates requests, by a token or by a session's cookie.
///
/// A class with a mutex, because requests come on several threads.
final class Authenticator: Sendable {
    /// A session ends after this time without a request.
    static let idle = Duration.seconds(12 * 3600)
    /// How long a browser keeps the cookie of a session: as long as browsers allow, because the console ends the session.
    private static let cookieSpan = Duration.days(400)
    /// The most sessions, of all users and of one user. A further session ends the one that was idle longest.
    static let maxSessions = 1000
    static let maxOfOne = 50
    /// How many wrong tokens an address may send within ``span``; further ones get 429.
    static let maxFailures = 10
    static let span = Duration.seconds(60)
    private static let maxAddresses = 1000
    /// The lifetime of a session that began at an OpenID provider.
    static let accountSpan = Duration.seconds(12 * 3600)

    private struct Entry {
        var session: Visitor.Session
        var owner: Owner
        var used: Timestamp
    }

    private enum Owner {
        /// The hash of the token that began the session; the session ends with the token.
        case token(String)
        /// A person with an account at a provider. The session has an end, so that the provider is asked for the role again.
        case person(Visitor, until: Timestamp)

        var name: String {
            switch self {
            case .token(let hash): hash
            case .person(let visitor, _): visitor.name
            }
        }
    }

    private struct State {
        var sessions: [String: Entry] = [:]
        /// The times of wrong tokens, by address.
        var failures: [String: [Timestamp]] = [:]
    }

    private let view: AgentView
    private let users: [ConsoleToken]
    private let sessionCookie: String
    private let state = Mutex(State())

    init(_ view: AgentView) {
        self.view = view
        sessionCookie = view.configuration.sessionCookie
        users = view.configuration.users.map {
            ConsoleToken(name: $0.name, role: $0.role, hash: ConsoleToken.hash(of: $0.token), created: view.clock.now)
        }
    }

    private enum Credentials {
        case token(String)
        case session(Entry)
    }

    /// The visitor who makes a request; nil without a login.
    func visitor(of request: ConsoleRequest) async throws(Problem) -> Visitor? {
        switch credentials(of: request, isNew: true) {
        case .token(let token)?:
            let owner = try await owner(of: token, from: request)
            return Visitor(name: owner.name, role: owner.role)
        case .session(let entry)?: return try await visitor(of: entry)
        case nil: return nil
        }
    }

    /// Whether a request that is still being answered has valid credentials. Does not renew the session. True if the store fails.
    func stillAdmits(_ request: ConsoleRequest) async -> Bool {
        do throws(Problem) {
            switch credentials(of: request, isNew: false) {
            case .token(let token)?: return try await owner(withHash: ConsoleToken.hash(of: token)) != nil
            case .session(let entry)?: return try await visitor(of: entry) != nil
            case nil: return false
            }
        } catch {
            return true
        }
    }

    /// The token or the session of a request; nil if it has none, or its session is over.
    ///
    /// - Parameter isNew: whether the request is new, so that the session's idle time starts again.
    private func credentials(of request: ConsoleRequest, isNew: Bool) -> Credentials? {
        let field = (request.header("authorization") ?? "").split(separator: " ", maxSplits: 1)
        if field.count == 2, field[0].lowercased() == "bearer" { return .token(String(field[1])) }
        // Any other scheme is meant for a proxy, which may pass it on.
        guard let id = request.cookie(sessionCookie) else { return nil }
        let (key, now) = (ConsoleToken.hash(of: id), view.clock.now)
        let entry = state.withLock { state -> Entry? in
            guard let entry = state.sessions[key], now - entry.used < Self.idle else {
                state.sessions[key] = nil
                return nil
            }
            if isNew { state.sessions[key]?.used = now }
            return entry
        }
        return entry.map(Credentials.session)
    }

    /// A session's visitor; nil if the session's token was removed, or its time is over.
    private func visitor(of entry: Entry) async throws(Problem) -> Visitor? {
        switch entry.owner {
        case .token(let hash):
            guard let owner = try await owner(withHash: hash) else { return nil }
            return Visitor(name: owner.name, role: owner.role, session: entry.session)
        case .person(var visitor, let until):
            guard view.clock.now < until else { return nil }
            visitor.session = entry.session
            return visitor
        }
    }

    /// Begins a session for the owner of a token.
    func logIn(_ token: String, from request: ConsoleRequest) async throws(Problem) -> Visitor {
        let owner = try await owner(of: token, from: request)
        let session = begin(.token(owner.hash))
        return Visitor(name: owner.name, role: owner.role, session: session)
    }

    /// Begins a session for a person with an account at a provider.
    func logIn(_ name: String, _ role: ConsoleRole) -> Visitor {
        var visitor = Visitor(name: name, role: role)
        visitor.session = begin(.person(visitor, until: view.clock.now + Self.accountSpan))
        return visitor
    }

    private func begin(_ owner: Owner) -> Visitor.Session {
        let session = Visitor.Session(id: ConsoleToken.random(), formToken: ConsoleToken.random())
        state.withLock { state in
            let own = state.sessions.filter { $0.value.owner.name == owner.name }
            let full = own.count >= Self.maxOfOne ? own : state.sessions.count >= Self.maxSessions ? state.sessions : [:]
            if let oldest = full.min(by: { $0.value.used < $1.value.used }) { state.sessions[oldest.key] = nil }
            state.sessions[ConsoleToken.hash(of: session.id)] = Entry(session: session, owner: owner, used: view.clock.now)
        }
        return session
    }

    func logOut(_ visitor: Visitor) {
        guard let id = visitor.session?.id else { return }
        state.withLock { $0.sessions[ConsoleToken.hash(of: id)] = nil }
    }

    /// The header field that sets a visitor's session cookie; without a visitor, the field that removes it.
    func cookie(for visitor: Visitor?) -> (name: String, value: String) {
        cookie(sessionCookie, visitor?.session?.id ?? "", for: Self.cookieSpan)
    }

    /// The header field that sets a cookie; an empty value removes it.
    func cookie(_ name: String, _ value: String, for span: Duration) -> (name: String, value: String) {
        let isSecure = view.configuration.tls != nil || view.configuration.publicURL?.hasPrefix("https://") == true
        let age = value.isEmpty ? 0 : Int(span.components.seconds)
        return (
            "Set-Cookie", "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax; Max-Age=\(age)" + (isSecure ? "; Secure" : "")
        )
    }

    /// The token with this hash; nil if it is not known.
    private func owner(withHash hash: String) async throws(Problem) -> ConsoleToken? {
        if let owner = users.first(where: { $0.hash == hash }) { return owner }
        do throws(StoreError) {
            return try await view.inquirer.acceptedTokens().first { $0.hash == hash }
        } catch {
            throw Problem(InquiryError(error))
        }
    }

    /// The known token with this value. A token that a person chose might be guessed, so after wrong tokens it must wait. A token that
    /// Bellhop made never waits: its 256 random bits cannot be guessed. (Behind a proxy that hides the clients' addresses, wrong tokens of
    /// one client would make all clients wait.)
    private func owner(of token: String, from request: ConsoleRequest) async throws(Problem) -> ConsoleToken {
        // Compare hashes: the time that a comparison takes then reveals nothing about a token.
        let hash = ConsoleToken.hash(of: token)
        if ConsoleToken.isRandom(token), let owner = try await owner(withHash: hash) { return owner }
        let owner = users.first { $0.hash == hash }
        if let wait = wait(from: address(of: request), isWrong: owner == nil) {
            throw Problem(
                429, "Too many wrong tokens came from this address. Check the token, wait, then try again.",
                retryAfter: max(1, Int(wait.components.seconds)))
        }
        guard let owner else { throw Problem(401, "This token is not known. `bellhop console token add NAME` makes one.") }
        return owner
    }

    /// How long an address must wait before its next token is checked; nil without a wait.
    /// - Parameter isWrong: whether its present token counts as wrong.
    private func wait(from address: String, isWrong: Bool) -> Duration? {
        let now = view.clock.now
        return state.withLock { state in
            if state.failures.count >= Self.maxAddresses {
                state.failures = state.failures.filter { now - $0.value.last! < Self.span }
            }
            if state.failures.count >= Self.maxAddresses { state.failures.removeAll() }
            // A time that lies ahead is from before the clock was set back.
            let recent = (state.failures[address] ?? []).filter { $0 <= now && now - $0 < Self.span }
            guard recent.count < Self.maxFailures else { return Self.span - (now - recent[0]) }
            if isWrong { state.failures[address] = recent + [now] }
            return nil
        }
    }

    /// The address that a request comes from, without its port. Behind a proxy, the last address of the last `X-Forwarded-For`: the client
    /// may have forged all others.
    private func address(of request: ConsoleRequest) -> String {
        guard view.configuration.publicURL != nil,
            let hops = request.headers.last(where: { $0.name.lowercased() == "x-forwarded-for" })?.value,
            let last = hops.split(whereSeparator: { ", \t".contains($0) }).last
        else { return request.peer }
        if last.hasPrefix("[") { return String(last.dropFirst().prefix { $0 != "]" }) }
        let parts = last.split(separator: ":", omittingEmptySubsequences: false)
        return String(parts.count == 2 ? parts[0] : last)
    }
}

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
