import Glibc

/// The user at the other end of a Unix socket, as the kernel knows it (SO_PEERCRED, unix(7)).
struct PeerUser: Sendable, Hashable {
    /// As the kernel writes it (`struct ucred`).
    struct Credentials: Sendable {
        var process: Int32 = 0
        var user: UInt32 = .max
        var group: UInt32 = .max
    }

    var id: UInt32

    init(_ credentials: Credentials) { id = credentials.user }

    /// Nil where the kernel does not say.
    init?(of socket: Int32) {
        var credentials = Credentials()
        var size = socklen_t(MemoryLayout<Credentials>.size)
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        self.init(credentials)
    }

    /// Whether an agent answers this user: its own, and root, who could read the store anyway.
    func mayAsk(agentOf user: UInt32 = geteuid()) -> Bool { id == user || id == 0 }

    /// Whether an answer of this user's agent is believed by a command: the command's own user, root, and to root whoever owns the
    /// folder of the socket.
    func mayAnswer(at path: String, for user: UInt32 = geteuid()) -> Bool {
        if id == user || id == 0 { return true }
        guard user == 0 else { return false }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var facts = stat()
        return stat(folder.isEmpty ? "/" : folder, &facts) == 0 && facts.st_uid == id
    }
}
