import BellhopCore
import BellhopTesting
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import BellhopInbound

private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}

/// The server with unknown senders and slow peers.
@Suite(.timeLimit(.minutes(5))) struct `Slow senders and many connections` {
    private let recorder = DeskRecorder()
    private static let request =
        "POST /in/deploys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\nContent-Length: 16\r\n\r\n{\"service\": \"a\"}"
    private static let head = "POST /in/deploys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\nContent-Length: 100\r\n\r\n"

    /// What the server answers to the first part, if there is a second, and then until it ends the connection.
    private func exchange(_ parts: (String, String)) async throws -> (first: String?, rest: String) {
        let answers = Answers()
        try await recorder.serve(.events()) { port in
            try await RawConnection.with(port) { peer in
                try await peer.send(parts.0)
                let first = parts.1.isEmpty ? nil : await peer.piece()
                if !parts.1.isEmpty { try await peer.send(parts.1) }
                answers.set(first, await peer.readToEnd())
            }
        }
        return answers.all
    }

    private final class Answers: Sendable {
        private let state = Mutex<(first: String?, rest: String)>((nil, ""))
        var all: (first: String?, rest: String) { state.withLock { $0 } }
        func set(_ first: String?, _ rest: String) { state.withLock { $0 = (first, rest) } }
    }

    @Test func `a sender that expects 100 Continue gets it, or the refusal of its request`() async throws {
        let asking = Self.request.replacing("Content-Length", with: "Expect: 100-continue\r\nConnection: close\r\nContent-Length")
        let head = String(asking.prefix { $0 != "{" })
        let accepted = try await exchange((head, #"{"service": "a"}"#))
        #expect(accepted.first?.hasPrefix("HTTP/1.1 100 Continue\r\n") == true, "\(accepted)")
        #expect(accepted.rest.hasPrefix("HTTP/1.1 202 "), "\(accepted)")
        #expect(recorder.events.count == 1)
        let stranger = try await exchange((head.replacing("Bearer token", with: "Bearer other"), #"{"service": "a"}"#))
        #expect(stranger.first?.hasPrefix("HTTP/1.1 401 ") == true, "\(stranger)")
    }

    @Test func `a request of HTTP 1.0 that expects 100 Continue gets only its answer, and then the connection ends`() async throws
    {
        let asking = Self.request.replacing("HTTP/1.1", with: "HTTP/1.0").replacing(
            "Content-Length", with: "Expect: 100-continue\r\nContent-Length")
        try await recorder.serve(.events(), timeouts: .init(head: .seconds(600), body: .seconds(600))) { port in
            let answer = try await RawConnection.with(port) { peer in
                try await peer.send(asking)
                return await peer.readToEnd()
            }
            #expect(answer.split(separator: "\r\n").first?.contains(" 202 ") == true, "\(answer)")
            #expect(!answer.contains("100 Continue"), "\(answer)")
        }
    }

    @Test func `requests that arrive together are answered one after the other, up to the last that the sender announces`()
        async throws
    {
        let stranger = Self.request.replacing("Bearer token", with: "Bearer other").replacing("POST /in", with: "HEAD /in")
        let last = Self.request.replacing("Content-Length", with: "Connection: close\r\nContent-Length")
        let answer = try await exchange((Self.request + Self.request + last + Self.request, ""))
        #expect(Self.statuses(answer.rest) == ["202", "202", "202"], "\(answer)")
        #expect(recorder.events.count == 3)
        let refused = try await exchange((Self.request + stranger + Self.request, ""))
        #expect(Self.statuses(refused.rest) == ["202", "405"], "\(refused)")
    }

    @Test func `a sender that ends its direction after the request gets the answer, and within the request a refusal`()
        async throws
    {
        for (text, status) in [(Self.request, 202), (Self.head, 400), ("", nil)] as [(String, Int?)] {
            try await recorder.serve(.events(), timeouts: .init(head: .seconds(600), body: .seconds(600))) { port in
                let answer = try await RawConnection.with(port) { peer in
                    if !text.isEmpty { try await peer.send(text) }
                    try await peer.end()
                    return await peer.readToEnd()
                }
                #expect(answer.hasPrefix(status.map { "HTTP/1.1 \($0) " } ?? ""), "\(answer)")
                #expect(answer.isEmpty == (status == nil), "\(answer)")
            }
        }
        #expect(recorder.events.count == 1)
    }

    private static func statuses(_ answers: String) -> [String] {
        answers.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
    }

    @Test(arguments: ["HELLO\r\n\r\n", String(repeating: "@", count: 50_000)])
    func `a request is answered although bytes follow that are not a request`(_ bytes: String) async throws {
        try await recorder.serve(.events()) { port in
            let answers = try await RawConnection.with(port) { peer in
                try await peer.send(Self.request + bytes)
                try? await peer.end()  // fails if the server has ended the connection
                return await peer.readToEnd()
            }
            #expect(Self.statuses(answers) == ["202", "400"], "\(answers)")
        }
    }

    @Test func `the time limit for sending a request does not apply to the answer of one that arrived with another`() async throws
    {
        let handler = InboundHandler(
            [.events()], clock: TestClock(), storeEvents: { _ in _ = try? await Task.sleep(for: .milliseconds(600)) },
            storeTasks: { _, _ in }, poll: { _ in }, unique: { "1" })
        let last = Self.request.replacing("Content-Length", with: "Connection: close\r\nContent-Length")
        try await recorder.serve(handler, timeouts: .init(head: .seconds(600), body: .milliseconds(200))) { port in
            let answers = try await RawConnection.with(port) { peer in
                try await peer.send(Self.request + last)
                return await peer.readToEnd()
            }
            #expect(Self.statuses(answers) == ["202", "202"], "\(answers)")
        }
    }

    @Test func `stopping the server ends a connection with part of a head, without an answer`() throws {
        let channel = EmbeddedChannel()
        _ = InboundChannel(
            handler: recorder.handler(.events()), timeouts: .init(), connections: InboundConnections(most: 1),
            executor: BorrowedThread { $0() }
        ).setup(channel: channel, logger: Logger(label: "test"))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        try channel.writeInbound(ByteBuffer(string: "POST /in/deploys HTTP/1.1\r\nX-Long: "))
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.embeddedEventLoop.run()
        let answer = try channel.readOutbound(as: ByteBuffer.self)
        #expect(!channel.isActive && answer == nil)
    }

    @Test func `a request that asks for another protocol is answered, and then the connection ends`() async throws {
        // As Java's client sends it.
        let asking = Self.request.replacing(
            "Content-Length",
            with: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\nContent-Length")
        let answer = try await exchange((asking, ""))
        #expect(Self.statuses(answer.rest) == ["202"], "\(answer)")
        #expect(answer.rest.lowercased().contains("connection: close\r\n"), "\(answer)")
        #expect(recorder.events.count == 1)
    }

    @Test func `a request whose target is a whole address is answered too`() async throws {
        let whole = Self.request.replacing("POST /in/deploys", with: "POST http://bellhop.example:8091/in/deploys?x=/y")
        let last = whole.replacing("Content-Length", with: "Connection: close\r\nContent-Length")
        let answer = try await exchange((last, ""))
        #expect(Self.statuses(answer.rest) == ["202"], "\(answer)")
        let other = try await exchange((whole.replacing("/in/deploys", with: ""), ""))
        #expect(Self.statuses(other.rest) == ["404"], "\(other)")
    }

    @Test func `bytes that are not a request are answered 400`() async throws {
        let answer = try await exchange(("HELLO\r\n\r\n", ""))
        #expect(answer.rest.hasPrefix("HTTP/1.1 400 ") && answer.rest.hasSuffix("This is not a request in HTTP.\n"), "\(answer)")
    }

    @Test func `a request whose body is not what its head says is answered 400, and reported as refused`() async throws {
        let head = "POST /in/deploys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = try await exchange((head + "no size\r\n", ""))
        #expect(answer.rest.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        #expect(recorder.refused == ["deploys 400"])
    }

    @Test func `the answer to HEAD has no body`() async throws {
        let answer = try await exchange(("HEAD /in/deploys HTTP/1.1\r\nHost: x\r\n\r\n", ""))
        #expect(answer.rest.hasPrefix("HTTP/1.1 405 ") && answer.rest.hasSuffix("\r\n\r\n"), "\(answer)")
    }

    @Test func `no more requests are read from a peer while it does not read its answers`() throws {
        let (channel, reads) = (EmbeddedChannel(), ReadCounter())
        try channel.pipeline.syncOperations.addHandler(reads)
        _ = InboundChannel(
            handler: recorder.handler(.events()), timeouts: .init(), connections: InboundConnections(most: 1),
            executor: BorrowedThread { $0() }
        ).setup(channel: channel, logger: Logger(label: "test"))
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.read()
        #expect(reads.count == 0)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(reads.count == 1)
        _ = try channel.finish()
    }

    @Test func `a connection without a request is closed`() async throws {
        try await recorder.serve(.events(), timeouts: .init(head: .milliseconds(50), body: .seconds(600))) { port in
            let answer = try await RawConnection.with(port) { peer in await peer.readToEnd() }
            #expect(answer == "")
        }
    }

    @Test func `a head that arrives byte by byte does not keep its connection open`() async throws {
        try await recorder.serve(.events(), timeouts: .init(head: .milliseconds(200), body: .seconds(600))) { port in
            let answer = try await RawConnection.with(port) { peer in
                // Writing fails once the server has ended the connection, which may be before the first byte.
                for text in ["POST /in/deploys HTTP/1.1\r\nX-Long: "] + Array(repeating: "x", count: 12_000) {
                    guard (try? await peer.send(text)) != nil else { break }
                    try await Task.sleep(for: .milliseconds(5))
                }
                return await peer.readToEnd()
            }
            #expect(answer == "")
        }
    }

    @Test func `header fields that are too large are answered 431, and the connection is closed`() async throws {
        try await recorder.serve(.events(), timeouts: .init(head: .seconds(600), body: .milliseconds(500))) { port in
            let answer = try await RawConnection.with(port) { peer in
                try await peer.send("POST /in/deploys HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "x", count: 100_000))")
                return await peer.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
            #expect(answer.lowercased().contains("connection: close\r\n"), "\(answer)")
            #expect(answer.hasSuffix("The header fields are too large, or more than 100.\n"), "\(answer)")
        }
    }

    @Test func `header fields that are too large are answered 431 also after another request`() async throws {
        let large = "POST /in/deploys HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "x", count: 100_000))"
        let answer = try await exchange((Self.request + large, ""))
        #expect(Self.statuses(answer.rest) == ["202", "431"], "\(answer)")
    }

    @Test func `a sender above its rate is answered 429 after its body is read, and keeps its connection`() async throws {
        try await recorder.serve(.events(rate: 1)) { port in
            try await RawConnection.with(port) { peer in
                for status in ["202 Accepted", "429 Too Many Requests", "429 Too Many Requests"] {
                    try await peer.send(Self.request)
                    #expect(await peer.answer() == "HTTP/1.1 " + status)
                }
            }
        }
        #expect(recorder.events.count == 1)
    }

    @Test func `a body that arrives byte by byte is answered 408, and its connection is closed`() async throws {
        try await recorder.serve(.events(), timeouts: .init(head: .seconds(600), body: .milliseconds(200))) { port in
            let answer = try await RawConnection.with(port) { peer in
                try await peer.send(Self.head)
                return await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        while (try? await peer.send(" ")) != nil {
                            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
                        }
                    }
                    let answer = await peer.readToEnd()
                    group.cancelAll()
                    return answer
                }
            }
            #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
        }
        #expect(recorder.events.isEmpty)
    }

    @Test(arguments: [head, "POST /in/deploys HTTP/1.1\r\nX-Long: "])
    func `stopping the server does not wait for an unfinished request`(_ beginning: String) async throws {
        let (sent, hasSent) = AsyncStream<Void>.makeStream()
        let (ports, port) = AsyncStream<Int>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await port in ports {
                    let answer = try await RawConnection.with(port) { peer in
                        try await peer.send(beginning)
                        hasSent.yield()
                        return await peer.readToEnd()
                    }
                    #expect(answer == "")
                    break
                }
            }
            try await recorder.serve(.events()) { number in
                port.yield(number)
                for await _ in sent { break }
                try await RawConnection.with(number) { other in
                    try await other.send(Self.request)
                    #expect(await other.answer() == "HTTP/1.1 202 Accepted")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `stopping the server does not wait for a connection that was refused because there were too many`() async throws {
        try await recorder.serve(.events(), maxConnections: 0) { port in
            let answer = try await RawConnection.with(port) { peer in await peer.readToEnd() }
            #expect(answer == "")
        }
    }

    @Test func `an idle connection is closed some time after its answer`() async throws {
        let timeouts = InboundServer.Timeouts(head: .seconds(600), body: .seconds(600), idle: .milliseconds(50))
        try await recorder.serve(.events(), timeouts: timeouts) { port in
            let answer = try await RawConnection.with(port) { peer in
                try await peer.send(Self.request)
                return await peer.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 202 "), "\(answer)")
        }
    }

    @Test func `silent connections are closed to accept a new sender, and known senders keep theirs`() async throws {
        try await recorder.serve(.events(), maxConnections: 4) { port in
            try await RawConnection.with(port) { known in
                try await known.send(Self.request)
                #expect(await known.answer() == "HTTP/1.1 202 Accepted")
                try await withThrowingTaskGroup(of: Void.self) { silent in
                    for _ in 0..<20 {
                        silent.addTask { _ = try await RawConnection.with(port) { peer in await peer.readToEnd() } }
                    }
                    // All but three of them are closed in favour of later ones.
                    for _ in 0..<17 { try await silent.next() }
                    try await RawConnection.with(port) { new in
                        try await new.send(Self.request)
                        #expect(await new.answer() == "HTTP/1.1 202 Accepted")
                    }
                    try await known.send(Self.request)
                    #expect(await known.answer() == "HTTP/1.1 202 Accepted")
                    silent.cancelAll()
                }
            }
        }
        #expect(recorder.events.count == 3)
    }

    @Test func `the connection idle longest is closed, a stranger's if they have more than half, never one awaiting an answer`() {
        typealias Status = InboundConnections.Status
        func victim(_ connections: [Int: Status]) -> Int {
            InboundConnections.victim(among: connections.merging([9: Status(lastChange: 9)]) { $1 }, newest: 9, most: 3)
        }
        #expect(victim([1: Status(lastChange: 1, isKnown: true), 2: Status(lastChange: 3), 3: Status(lastChange: 2)]) == 3)
        #expect(victim([1: Status(lastChange: 4, isKnown: true), 2: Status(lastChange: 3, isKnown: true)]) == 2)
        #expect(victim([1: Status(lastChange: 1, isAnswering: true), 2: Status(lastChange: 3, isKnown: true)]) == 2)
        #expect(victim([1: Status(lastChange: 1, isAnswering: true)]) == 9)
        // Two connections that are new at the same time.
        #expect(
            victim([1: Status(lastChange: 1, isKnown: true), 2: Status(lastChange: 2, isKnown: true), 3: Status(lastChange: 8)])
                == 1)
    }

    @Test func `the servers together leave an eighth of the files and sockets for the rest of the agent`() {
        let most = InboundConnections.Server.allCases.reduce(0) { $0 + 512 / $1.filesPerConnection }
        #expect(most <= 512 * 7 / 8)
    }
}
