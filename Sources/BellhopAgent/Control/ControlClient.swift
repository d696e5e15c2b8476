public import BellhopCore
import BellhopFiles
import Glibc

/// Sends inquiries to a running agent.
public struct ControlClient: Sendable {
    private let place: ControlSocket.Place
    /// How many seconds of silence end the exchange.
    private let timeout: Int
    private var path: String { place.path }

    public init(_ place: ControlSocket.Place, timeout: Int = 30) { (self.place, self.timeout) = (place, timeout) }

    /// Sends an inquiry, passes on each row as it comes, and returns the end of the answer; nil when no agent listens. Trusts only an agent
    /// of this user or root.
    ///
    /// A slow consumer of rows makes the agent wait, so that rows do not pile up in memory.
    public func ask(_ inquiry: Inquiry, row: (JSON) -> Void = { _ in }) throws(InquiryError) -> JSON? {
        if let folder = place.privateFolder {
            do throws(PrivateFolder.FileError) {
                guard try PrivateFolder.isOurs(folder) else { return nil }
            } catch {
                throw InquiryError(.badRequest, error.message)
            }
        }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw InquiryError(.badRequest, "Cannot create a socket: \(SystemError().text).") }
        defer { close(socket) }
        // A process that is stopped accepts no connection: once many wait for it, the next one waits, too.
        var wait = timeval(tv_sec: timeout, tv_usec: 0)
        for direction in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, direction, &wait, socklen_t(MemoryLayout<timeval>.size))
        }
        guard let address = UnixAddress(path) else { return nil }
        guard address.withPointer({ connect(socket, $0, $1) }) == 0 else {
            if errno == EAGAIN { throw silent(after: 0) }
            return nil
        }
        guard let peer = PeerUser(of: socket), peer.mayAnswer(at: path) else {
            throw InquiryError(
                .badRequest, "Another user's program listens at \(path), so Bellhop ignores it: remove it, or run as its user.")
        }
        var question = inquiry.json
        if let person = Person.current { question["by"] = person.json }
        guard send(question.encoded() + [UInt8(ascii: "\n")], on: socket) else {
            throw errno == EAGAIN ? silent(after: 0) : cutOff(after: 0)
        }
        var lines = SocketLines(socket)
        var rows = 0
        while true {
            let line: [UInt8]
            switch lines.next() {
            case .line(let next): line = next
            case .end: throw cutOff(after: rows)
            case .timeOut: throw silent(after: rows)
            }
            switch ControlFrame(line: line) {
            case .row(let value):
                rows += 1
                row(value)
            case .end(let value): return value
            case .failure(let error): throw error
            case nil:
                throw InquiryError(
                    .badRequest, "The running agent's answer cannot be read; is its version different? Restart the agent.")
            }
        }
    }

    private func silent(after rows: Int) -> InquiryError {
        InquiryError(
            .silent,
            "The running agent did not answer for \(counted(timeout, "second")) at \(path)\(Self.after(rows)). Try again, and look at its log."
        )
    }

    private func cutOff(after rows: Int) -> InquiryError {
        InquiryError(
            .cutOff,
            "The running agent ended the conversation at \(path) before its answer was complete\(Self.after(rows)); is it stopping? Try again."
        )
    }

    private static func after(_ rows: Int) -> String { rows == 0 ? "" : ", after \(counted(rows, "row"))" }

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
}

/// The lines that come through a socket.
private struct SocketLines {
    enum Next {
        /// A line without its line end.
        case line([UInt8])
        /// The other side hung up; an unfinished line is ignored.
        case end
        case timeOut
    }

    private let socket: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var unread = 0..<0

    init(_ socket: Int32) { self.socket = socket }

    mutating func next() -> Next {
        var line: [UInt8] = []
        while true {
            if let end = buffer[unread].firstIndex(of: UInt8(ascii: "\n")) {
                line += buffer[unread.lowerBound..<end]
                unread = end + 1..<unread.upperBound
                return .line(line)
            }
            line += buffer[unread]
            let count = recv(socket, &buffer, buffer.count, 0)
            unread = 0..<max(count, 0)
            if count > 0 { continue }
            if count < 0, errno == EINTR { continue }
            return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? .timeOut : .end
        }
    }
}
