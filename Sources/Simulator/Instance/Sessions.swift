import BellhopCore

/// The server sessions of an instance and the cookies that name them.
struct Sessions: Sendable {
    struct Session: Sendable {
        let number: Int
        /// sys_id.
        let user: String
        var javaSession: String
        let route: String
        let store: String
        /// When it ends unless used: microseconds since 1970 UTC.
        var ends: Int64
        var responses = 0
        var hasListed = false
        /// `g_ck`: the token that a write must send besides the cookies.
        let userToken: String
        /// When the token that opened the session ends, and the session with it; nil if no token opened it.
        var tokenEnds: Int64?
    }

    private(set) var open: [Int: Session] = [:]
    private var numberOfJavaSession: [String: Int] = [:]
    private(set) var opened = 0
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// The session of the cookies, if all of them match and it has not ended.
    ///
    /// The route cookie selects the node that has the session: without it, or with another, the session is not found.
    mutating func find(_ cookies: [String: String], at now: Int64) -> Session? {
        guard let number = cookies["JSESSIONID"].flatMap({ numberOfJavaSession[$0] }), let session = open[number] else {
            return nil
        }
        if session.ends <= now || session.tokenEnds.map({ $0 <= now }) ?? false {
            close(number)
            return nil
        }
        guard cookies["glide_user_route"] == session.route, cookies["glide_session_store"] == session.store else { return nil }
        return session
    }

    mutating func open(for user: String, tokenEnds: Int64? = nil, at now: Int64) -> Session {
        opened += 1
        let session = Session(
            number: opened, user: user, javaSession: random.hex().uppercased(), route: "glide." + random.hex(),
            store: random.hex().uppercased(), ends: now, userToken: random.hex(72), tokenEnds: tokenEnds)
        open[session.number] = session
        numberOfJavaSession[session.javaSession] = session.number
        return session
    }

    /// Records that the session has listed tasks; true for the first time.
    mutating func noteList(_ number: Int) -> Bool {
        guard open[number]?.hasListed == false else { return false }
        open[number]?.hasListed = true
        return true
    }

    mutating func close(_ number: Int) {
        if let session = open.removeValue(forKey: number) { numberOfJavaSession[session.javaSession] = nil }
    }

    mutating func close(where isMeant: (Session) -> Bool) {
        for session in open.values where isMeant(session) { close(session.number) }
    }

    /// The `Set-Cookie` headers of the session's next response: all cookies on the first, a new JSESSIONID on the second
    /// (`glide.ui.rotate_sessions`), and the new end of the session each time.
    mutating func cookies(for number: Int, at now: Int64, settings: InstanceSettings) -> [String] {
        guard var session = open[number] else { return [] }
        session.responses += 1
        session.ends = now + Int64(settings.sessionSeconds) * CivilTime.second
        if session.responses == 2 {
            numberOfJavaSession[session.javaSession] = nil
            session.javaSession = random.hex().uppercased()
            numberOfJavaSession[session.javaSession] = number
        }
        open[number] = session
        let flags = "; Path=/; HttpOnly"
        let java = "JSESSIONID=\(session.javaSession)\(flags)"
        let expires = CivilTime.cookie(session.ends)
        let store = "glide_session_store=\(session.store); Max-Age=\(settings.sessionSeconds); Expires=\(expires)\(flags)"
        switch session.responses {
        case 1:
            // The first cookie is deleted by its date alone, with dashes, which some parsers cannot read.
            let gone = "Expires=Thu, 01-Jan-1970 00:00:10 GMT\(flags)"
            return [
                java, "glide_user=\"\"; \(gone)", "glide_user_session=\"\"; Max-Age=0; \(gone)",
                "glide_user_route=\(session.route); Max-Age=2147483647; Expires=Sat, 01-Apr-2084 12:00:00 GMT\(flags)", store,
            ]
        case 2: return [java, store]
        default: return [store]
        }
    }
}
