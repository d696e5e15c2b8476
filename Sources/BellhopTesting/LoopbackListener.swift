import Glibc

/// A socket that listens on a free port of this machine. Connections wait for an answer until the test accepts them.
///
/// A class, because it owns the socket.
public final class LoopbackListener: Sendable {
    public let port: UInt16
    public let socket: Int32

    struct Failed: Error {
        var reason: String
    }

    /// - Parameter port: the port; 0 for any.
    public init(port: UInt16 = 0) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in(loopback: port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = socket
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(socket)
            throw Failed(reason: reason)
        }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }

    /// A new connection to a port of this machine; nil if nothing listens there.
    public static func connection(to port: Int) -> Int32? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let code = withUnsafePointer(to: sockaddr_in(loopback: UInt16(port))) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code == 0 { return socket }
        close(socket)
        return nil
    }
}

extension sockaddr_in {
    fileprivate init(loopback port: UInt16) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}

public enum FreePort {
    /// A port that was free a moment ago. It is below the range from which Linux assigns ports to other sockets (from 32768), so that no
    /// server or connection of the test gets it before the program does.
    public static func find() throws -> Int {
        for _ in 1...1000 {
            if let listener = try? LoopbackListener(port: .random(in: 20_000..<32_768)) { return Int(listener.port) }
        }
        throw LoopbackListener.Failed(reason: "no port from 20000 to 32767 is free")
    }
}
