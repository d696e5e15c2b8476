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
        return stat(Folder.parent(of: path), &facts) == 0 && facts.st_uid == id
    }
}
