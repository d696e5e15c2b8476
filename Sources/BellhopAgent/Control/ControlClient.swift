public import BellhopCore
import Glibc

/// Asks a running agent.
public struct ControlClient: Sendable {
    private let path: String

    public init(path: String) { self.path = path }

    /// The agent's answer; nil when no agent listens.
    public func ask(_ inquiry: Inquiry) throws(InquiryError) -> JSON? {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else {
            throw InquiryError(.badRequest, "No socket could be made: \(String(cString: strerror(errno))).")
        }
        defer { close(socket) }
        guard connect(socket) else { return nil }
        var wait = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        guard send(inquiry.json.encoded() + [UInt8(ascii: "\n")], on: socket), let reply = receive(on: socket) else {
            throw InquiryError(.badRequest, "The running agent ended the conversation at \(path); is it stopping? Try again.")
        }
        guard let json = try? JSON.parse(reply) else {
            throw InquiryError(.badRequest, "The running agent's answer cannot be read; is it of another version?")
        }
        return try ControlSocket.result(of: json).get()
    }

    private func connect(_ socket: Int32) -> Bool {
        guard let address = UnixAddress(path) else { return false }
        return address.withPointer { Glibc.connect(socket, $0, $1) == 0 }
    }

    private func send(_ bytes: [UInt8], on socket: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    private func receive(on socket: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return bytes.isEmpty ? nil : bytes }
            bytes += buffer[..<count]
        }
    }
}
