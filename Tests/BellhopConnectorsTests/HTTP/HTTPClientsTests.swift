import BellhopCore
import BellhopTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct HTTPClientsTests {
    @Test func `many requests at once use two threads, and few use one`() async throws {
        let simulation = Simulation { 0 }
        let many = 8
        simulation.faults.add(.slow(milliseconds: 60_000), times: nil)
        let address = try HTTPAddress(try await simulation.serve())
        let connection = try HTTPConnection(.init(name: "test"), clock: TestClock())
        func threads() -> Int {
            Set((0..<6).compactMap { _ in connection.executor.map { ObjectIdentifier($0) } }).count
        }
        #expect(threads() == 1)
        try await withThrowingTaskGroup { group in
            for _ in 0..<many { group.addTask { _ = try await connection.send(HTTPRequest(address)) } }
            for _ in 0..<3_000 where simulation.requests.total < many { try await Task.sleep(for: .milliseconds(10)) }
            #expect(threads() == 2)
            group.cancelAll()
            while let result = await group.nextResult() { #expect(throws: TransportError.self) { try result.get() } }
        }
        #expect(threads() == 1)
        try await connection.shutdown()
    }

    @Test func `the head of a request is sent together with its body or its end`() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(HTTPRequestEncoder())
        try FlushAfterHead.add(to: channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        func head(_ method: HTTPMethod, _ headers: HTTPHeaders = [:]) -> HTTPClientRequestPart {
            .head(HTTPRequestHead(version: .http1_1, method: method, uri: "/", headers: headers))
        }
        func sent() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
        channel.writeAndFlush(head(.POST, ["Content-Length": "2"]), promise: nil)
        #expect(try sent() == "")
        channel.writeAndFlush(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(string: "{}"))), promise: nil)
        #expect(try sent() == "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        channel.write(head(.GET), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        #expect(try sent() == "GET / HTTP/1.1\r\n\r\n")
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
