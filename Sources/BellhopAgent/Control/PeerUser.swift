public import BellhopCore
import Glibc

/// The user at the other end of a Unix socket, according to the kernel (SO_PEERCRED, unix(7)).
struct PeerUser: Sendable, Hashable {
    /// The kernel's `struct ucred`.
    struct Credentials: Sendable {
        var process: Int32 = 0
        var user: UInt32 = .max
        var group: UInt32 = .max
    }

    var id: UInt32

    init(_ credentials: Credentials) { id = credentials.user }

    /// Nil if the kernel does not say.
    init?(of socket: Int32) {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(credentials)
    }

    /// Whether an agent answers this user: the agent's own user, or root, which can read the store anyway.
    func mayAsk(agentOf user: UInt32 = geteuid()) -> Bool { id == user || id == 0 }

    /// Whether a command trusts this user's agent: the command's own user and root are trusted; root also trusts the owner of the
    /// socket's folder.
    func mayAnswer(at path: String, for user: UInt32 = geteuid()) -> Bool {
        if id == user || id == 0 { return true }
        guard user == 0 else { return false }
        var facts = stat()
        return stat(PathText.folder(of: path), &facts) == 0 && facts.st_uid == id
    }
}

extension Person {
    /// The user of this process. If this user became root through sudo, with both names.
    public init(command: String, environment: [String: String]) {
        let id = geteuid()
        var user = PeerUser.name(of: id)
        if id == 0, let other = environment["SUDO_USER"], !other.isEmpty, other != user { user = "\(other) (as \(user))" }
        self.init(user: user, host: Self.host, command: command)
    }

    /// The person at the other end of a socket. Only root may name another user than its own, because it may act for others.
    init(_ peer: PeerUser, claims: JSON?) {
        let claimed = claims.flatMap { Person(json: $0) }
        let user = peer.id == 0 ? claimed?.user : nil
        self.init(user: user ?? PeerUser.name(of: peer.id), host: Self.host, command: claimed?.command ?? "")
    }

    private static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}

extension PeerUser {
    /// The name of a user; its number if it has none.
    static func name(of id: UInt32) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, let found else { return "user \(id)" }
        return String(cString: found.pointee.pw_name)
    }
}
