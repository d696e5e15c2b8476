import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

extension HTTPConnection {
    /// Sends a GET for an endless answer, and passes on each line as it arrives, without its line end.
    /// - Parameters:
    ///   - type: the media type of a successful answer.
    ///   - silence: the timeout while waiting for a line.
    ///   - line: called in order. A last line without its end is incomplete and is dropped.
    /// - Returns: the answer if it is not a success or has another type; nil when a successful one has ended.
    public func lines(
        of address: HTTPAddress, headers: HeaderFields, as type: String, silence: Duration,
        line: @escaping @Sendable (String) async -> Void
    ) async throws(TransportError) -> HTTPResponse? {
        let request = HTTPRequest(address, headers: headers)
        try await check(request)
        try await waitForTurn(request)
        var prepared = HTTPClientRequest(url: request.address.text)
        prepared.headers = self.headers(of: request)
        prepared.headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        let progress = Progress(hasBody: false)
        let waiting = WaitStart()
        do {
            return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { [client = clients.current, configuration, prepared] in
                    let answer = try await client.execute(prepared, deadline: .distantFuture)
                    let fields = HeaderFields(answer.headers.map { HeaderFields.Field($0.name, $0.value) })
                    guard answer.status == .ok, fields["Content-Type"]?.lowercased().hasPrefix(type) == true else {
                        let body = try await answer.body.collect(upTo: configuration.maxBody)
                        return HTTPResponse(
                            status: Int(answer.status.code), headers: fields, body: Array(body.readableBytesView))
                    }
                    var rest: [UInt8] = []
                    for try await part in answer.body {
                        waiting.since.withLock { $0 = nil }
                        defer { waiting.since.withLock { $0 = .now } }
                        var pieces = part.readableBytesView.split(separator: 0x0a, omittingEmptySubsequences: false)
                        let last = pieces.removeLast()
                        for piece in pieces {
                            await line(String(decoding: rest + piece, as: UTF8.self))
                            rest = []
                        }
                        rest += last
                        if rest.count > configuration.maxBody { throw BodyTooLarge() }
                    }
                    return nil
                }
                group.addTask {
                    while true {
                        let end = (waiting.since.withLock { $0 } ?? .now) + silence
                        if end <= .now { throw HTTPClientError.readTimeout }
                        try await Task.sleep(until: end)
                    }
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch {
            throw TransportError(
                error, at: request.address, through: configuration.proxy, timeout: silence, limit: configuration.maxBody, progress
            )
        }
    }
}

/// When the wait for the next part began; nil while a part's lines are passed on.
///
/// A class with a mutex, because one task writes what another reads.
private final class WaitStart: Sendable {
    let since = Mutex<ContinuousClock.Instant?>(.now)
}

/// The progress of a request: whether the other side may have received all of it.
///
/// A class, because the client sends the body in its own task while the sender waits.
final class Progress: Sendable {
    private let handedOver: Atomic<Bool>
    private let hasAnswer = Atomic(false)

    init(hasBody: Bool) { handedOver = Atomic(!hasBody) }

    func handOver() { handedOver.store(true, ordering: .releasing) }
    func answered() { hasAnswer.store(true, ordering: .releasing) }

    /// True once the client requested the body, which it does when connected; always true for a request without a body.
    var mayHaveArrived: Bool { handedOver.load(ordering: .acquiring) || isAnswered }
    var isAnswered: Bool { hasAnswer.load(ordering: .acquiring) }
}
