import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// The yardstick for deliveries: a client that posts the same body repeatedly and concurrently, and stores nothing.
enum BareClient {
    /// The seconds for `count` requests with `inFlight` of them at a time.
    static func post(_ body: [UInt8], to address: String, count: Int, inFlight: Int) async throws -> Double {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = inFlight
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "User-Agent", value: "Bellhop")
        request.body = .bytes(ByteBuffer(bytes: body))
        let prepared = request
        // Open the connections before measuring.
        try await run(client, prepared, count: inFlight * 4, inFlight: inFlight)
        let time = try await Stopwatch.seconds { try await run(client, prepared, count: count, inFlight: inFlight) }
        try await client.shutdown()
        return time
    }

    private static func run(_ client: HTTPClient, _ request: HTTPClientRequest, count: Int, inFlight: Int) async throws {
        try await withThrowingTaskGroup { group in
            for lane in 0..<inFlight {
                group.addTask {
                    for _ in stride(from: lane, to: count, by: inFlight) {
                        let response = try await client.execute(request, deadline: .now() + .seconds(30))
                        _ = try await response.body.collect(upTo: 1 << 20)
                        guard response.status == .ok else { throw BenchError("the receiver answered \(response.status)") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
