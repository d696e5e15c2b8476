import BellhopCore
import BellhopTesting
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import BellhopConnectors

/// Endless answers, read line by line.
@Suite(.closing) struct LinesTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    private func connect() throws -> HTTPConnection {
        let connection = try HTTPConnection(.init(name: "test"), clock: TestClock())
        whenTestEnds { try await connection.shutdown() }
        return connection
    }

    /// The lines of an answer that is sent in pieces, each a while after the one before.
    private func lines(_ pieces: [String]) async throws -> [String] {
        let (_, address) = try await SocketServer.serve { _, send in
            Task {
                for piece in pieces {
                    send(piece)
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
        }
        let found = Mutex<[String]>([])
        let answer = try await connect().lines(
            of: HTTPAddress(address), headers: [:], as: "text/event-stream", silence: .seconds(20)
        ) { line in found.withLock { $0.append(line) } }
        #expect(answer == nil)
        return found.withLock(\.self)
    }

    @Test func `lines arrive however the answer is cut into pieces`() async throws {
        let pieces = ["5\r\n", "ab\ncd", "\r\n", "3\r\n\nef\r\n2\r\ng\n\r\n", "0\r\n\r\n"]
        #expect(try await lines([Self.head] + pieces) == ["ab", "cd", "efg"])
        #expect(try await lines([Self.head + pieces.joined()]) == ["ab", "cd", "efg"])
        #expect(try await lines((Self.head + pieces.joined()).map { String($0) }) == ["ab", "cd", "efg"])
    }

    @Test func `a socket reads on only when its reader has processed all parts`() async throws {
        let seen = Seen()
        let (_, address) = try await SocketServer.serve { _, send in
            Task {
                send(Self.head)
                for _ in 0..<50 {
                    send("8\r\n1234567\n\r\n")
                    try? await Task.sleep(for: .milliseconds(5))
                }
                seen.hasSentAll.store(true, ordering: .relaxed)
            }
        }
        let connection = try connect()
        let request = connection.prepared(HTTPRequest(try HTTPAddress(address)), Progress(), deadline: .distantFuture)
        let reading = Task {
            try await connection.clients.answer(to: request) { StuckReader { seen.parts.add(1, ordering: .relaxed) } }
        }
        for _ in 0..<2_000 where !seen.hasSentAll.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(seen.parts.load(ordering: .relaxed) > 0)
        #expect(seen.parts.load(ordering: .relaxed) < 50)
        reading.cancel()
        await #expect(throws: (any Error).self) { try await reading.value }
    }

    private final class Seen: Sendable {
        let hasSentAll = Atomic(false)
        let parts = Atomic(0)
    }

    /// Never processes the parts that it reads.
    private final class StuckReader: AnswerReader {
        private(set) var backlog: Int? = 0
        private let count: () -> Void

        init(_ count: @escaping () -> Void) { self.count = count }

        func read(_ head: HTTPResponseHead, of call: Call) {}
        func read(_ part: ByteBuffer) {
            backlog = (backlog ?? 0) + 1
            count()
        }
        func end(_ error: (any Error)?) -> Result<HTTPResponse, any Error> {
            if let error { return .failure(error) }
            return .success(HTTPResponse(status: 200))
        }
    }
}
