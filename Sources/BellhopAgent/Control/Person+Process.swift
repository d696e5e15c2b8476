public import BellhopCore
import Glibc

extension Person {
    /// The user of this process; for root by sudo, both names.
    public init(command: String, environment: [String: String]) {
        let id = geteuid()
        var user = PeerUser.name(of: id)
        if id == 0, let other = environment["SUDO_USER"], !other.isEmpty, other != user { user = "\(other) (as \(user))" }
        self.init(user: user, host: Self.host, command: command)
    }

    /// The person at the other end of a socket. A client's own claim of its user counts only from root, which may act for others.
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
