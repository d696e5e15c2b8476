import BellhopTesting
import Foundation
import Synchronization

/// A server on this machine that answers each request as a test defines.
///
/// A class with a mutex, because each connection has a thread of its own.
final class CannedServer: Sendable {
    struct Answer: Sendable {
        var status = "200 OK"
        var type = "application/json"
        var fields: [String] = []
        var body: String
    }

    private struct State {
        /// The request lines.
        var asked: [String] = []
        var connections = 0
    }

    private let state = Mutex(State())
    private let answer: @Sendable (String) -> Answer
    private let listener: LoopbackListener
    let address: String

    var asked: [String] { state.withLock(\.asked) }
    var connections: Int { state.withLock(\.connections) }

    /// Serves until the test ends.
    /// - Parameter answer: gives the answer to a request line.
    init(_ answer: @escaping @Sendable (String) -> Answer) throws {
        self.answer = answer
        listener = try LoopbackListener()
        address = "http://127.0.0.1:\(listener.port)"
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener.socket, nil, nil)
                guard client >= 0 else { return }
                state.withLock { $0.connections += 1 }
                Thread.detachNewThread { [self] in serve(client) }
            }
        }
        whenTestEnds { [listener] in shutdown(listener.socket, Int32(SHUT_RDWR)) }
    }

    /// Answers the requests of one connection.
    private func serve(_ client: Int32) {
        defer { close(client) }
        var text = ""
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(client, &bytes, bytes.count)
            guard count > 0 else { return }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
            let parts = text.components(separatedBy: "\r\n\r\n")
            guard parts.count >= 2 else { continue }
            let announced = parts[0].lowercased().components(separatedBy: "content-length: ").dropFirst().first
            let length = announced.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            guard parts[1].utf8.count >= length else { continue }
            let line = parts[0].components(separatedBy: "\r\n")[0]
            text = ""
            state.withLock { $0.asked.append(line) }
            let answer = answer(line)
            let head = ["HTTP/1.1 \(answer.status)", "Content-Type: \(answer.type)", "Content-Length: \(answer.body.utf8.count)"]
            let whole = Array(((head + answer.fields).joined(separator: "\r\n") + "\r\n\r\n" + answer.body).utf8)
            guard send(client, whole, whole.count, Int32(MSG_NOSIGNAL)) == whole.count else { return }
        }
    }
}
