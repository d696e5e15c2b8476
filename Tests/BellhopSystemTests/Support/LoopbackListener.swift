import Glibc
import Testing

/// A socket that listens on a free port of this machine. Connections wait for an answer until the test accepts them.
///
/// A class, because it owns the socket.
final class LoopbackListener: Sendable {
    let port: UInt16
    let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(socket >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isListening, "\(String(cString: strerror(errno)))")
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }
}

enum FreePort {
    /// A port that was free a moment ago.
    static func find() throws -> Int { Int(try LoopbackListener().port) }
}
