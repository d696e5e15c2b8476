import BellhopCore
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
        var request = HTTPRequest(address, headers: headers)
        request.headers["Accept-Encoding"] = "identity"
        try await check(request)
        try await waitForTurn(request)
        let progress = Progress()
        let prepared = prepared(request, progress, deadline: .distantFuture)
        let waiting = WaitStart()
        let isLines: @Sendable (HTTPResponse) -> Bool = {
            $0.status == 200 && $0.headers["Content-Type"]?.lowercased().hasPrefix(type) == true
        }
        let (parts, source) = AsyncStream.makeStream(of: LinePart.self)
        do {
            return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
                group.addTask { [clients, maxBody = configuration.maxBody] in
                    async let answer = clients.answer(to: prepared) {
                        LineReader(AnswerCollector(limit: maxBody, bodyNotNeededFor: nil, progress), source, isLines: isLines)
                    }
                    var rest: [UInt8] = []
                    for await part in parts {
                        waiting.since.withLock { $0 = nil }
                        defer { waiting.since.withLock { $0 = .now } }
                        var pieces = part.bytes.readableBytesView.split(separator: 0x0a, omittingEmptySubsequences: false)
                        let last = pieces.removeLast()
                        for piece in pieces {
                            await line(String(decoding: rest + piece, as: UTF8.self))
                            rest = []
                        }
                        rest += last
                        if rest.count > maxBody { throw BodyTooLarge() }
                        part.readOn()
                    }
                    let whole = try await answer
                    return isLines(whole) ? nil : whole
                }
                group.addTask {
                    while true {
                        let end = (waiting.since.withLock { $0 } ?? .now) + silence
                        if end <= .now { throw ClientError.deadline }
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

/// A part of an endless answer.
private struct LinePart: Sendable {
    var bytes: ByteBuffer
    /// Tells the client that the lines of this part are passed on.
    var readOn: @Sendable () -> Void
}

/// Passes on the parts of an endless answer, each when it is asked for; collects any other answer.
private final class LineReader: AnswerReader {
    private let collector: AnswerCollector
    /// Nil after the end: a part that was never taken would keep this reader, and this reader the part.
    private var parts: AsyncStream<LinePart>.Continuation?
    private let isLines: (HTTPResponse) -> Bool
    private weak var call: Call?
    private var readOn: (@Sendable () -> Void)?
    private(set) var backlog: Int?

    init(
        _ collector: AnswerCollector, _ parts: AsyncStream<LinePart>.Continuation, isLines: @escaping (HTTPResponse) -> Bool
    ) {
        (self.collector, self.parts, self.isLines) = (collector, parts, isLines)
    }

    func read(_ head: HTTPResponseHead, of call: Call) throws {
        try collector.read(head, of: call)
        guard isLines(collector.head), let loop = call.socket?.channel.eventLoop else { return }
        self.call = call
        backlog = 0
        let reader = NIOLoopBound(self, eventLoop: loop)
        readOn = { loop.execute { reader.value.processed() } }
    }

    private func processed() {
        backlog = (backlog ?? 0) - 1
        if backlog == 0 { call?.readOn() }
    }

    func read(_ part: ByteBuffer) throws {
        guard let readOn else { return try collector.read(part) }
        backlog = (backlog ?? 0) + 1
        parts?.yield(LinePart(bytes: part, readOn: readOn))
    }

    func end(_ error: (any Error)?) -> Result<HTTPResponse, any Error> {
        parts?.finish()
        (parts, readOn) = (nil, nil)
        return collector.end(error)
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
/// A class, because the client's thread writes what the sender's task reads.
final class Progress: Sendable {
    private let handedOver = Atomic(false)
    private let hasAnswer = Atomic(false)

    func handOver() { handedOver.store(true, ordering: .releasing) }
    func answered() { hasAnswer.store(true, ordering: .releasing) }

    /// True once the request was handed over to an open connection.
    var mayHaveArrived: Bool { handedOver.load(ordering: .acquiring) || isAnswered }
    var isAnswered: Bool { hasAnswer.load(ordering: .acquiring) }
}
