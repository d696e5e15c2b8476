import AsyncHTTPClient
import BellhopCore
import NIOCore
import NIOHTTP1
import Synchronization

/// Collects the answer to one request on the connection's thread, and wakes the sender once: with the whole answer or an error.
///
/// A class with a mutex, because the client's thread writes what the sender's task reads and cancels.
final class AnswerCollector: HTTPClientResponseDelegate {
    typealias Response = HTTPResponse

    private struct State {
        var status = 0
        var headers = HeaderFields()
        var body = BodyBlocks(announced: nil)
        /// The largest body, in bytes.
        var limit: Int
        /// True after a status that is enough without the body: the request can no longer fail.
        var isSettled = false
        var task: HTTPClient.Task<HTTPResponse>?
        var isCancelled = false
    }

    private let state: Mutex<State>
    private let bodyNotNeededFor: StatusSet?
    private let progress: Progress

    /// How many bytes of the body are read, and for how long, after such a status, so that the connection can be reused.
    static let settled = (limit: 64 << 10, time: TimeAmount.seconds(2))

    /// - Parameters:
    ///   - limit: the largest body, in bytes.
    ///   - bodyNotNeededFor: statuses after which the body no longer matters. The body is then empty if it is large, slow or
    ///     cut off.
    init(limit: Int, bodyNotNeededFor: StatusSet?, _ progress: Progress) {
        state = Mutex(State(limit: limit))
        self.bodyNotNeededFor = bodyNotNeededFor
        self.progress = progress
    }

    /// The answer. Cancelling the task ends the request.
    func answer(to request: HTTPClient.Request, by client: HTTPClient, deadline: NIODeadline) async throws -> HTTPResponse {
        let loop = client.eventLoopGroup.any()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                @Sendable func begin() {
                    guard self.state.withLock({ !$0.isCancelled }) else {
                        return continuation.resume(throwing: CancellationError())
                    }
                    let task = client.execute(
                        request: request, delegate: self, eventLoop: .delegate(on: loop), deadline: deadline)
                    task.futureResult.whenComplete { continuation.resume(with: self.outcome($0)) }
                    let isCancelled = self.state.withLock { state in
                        state.task = task
                        return state.isCancelled
                    }
                    if isCancelled { task.cancel() }
                }
                // Starts on the connection's thread, so that no part of the exchange changes threads.
                if loop.inEventLoop { begin() } else { loop.execute { begin() } }
            }
        } onCancel: {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }
    }

    private func outcome(_ result: Result<HTTPResponse, any Error>) -> Result<HTTPResponse, any Error> {
        state.withLock { state in
            state.task = nil  // breaks a retain cycle
            guard case .failure = result, state.isSettled else { return result }
            return .success(HTTPResponse(status: state.status, headers: state.headers, body: []))
        }
    }

    func didReceiveHead(task: HTTPClient.Task<HTTPResponse>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        progress.answered()
        let status = Int(head.status.code)
        let isSettled = bodyNotNeededFor?.contains(status) ?? false
        let announced = head.headers.first(name: "Content-Length").flatMap { Int($0) }
        let fits = state.withLock { state in
            state.status = status
            state.headers = HeaderFields(head.headers.map { HeaderFields.Field($0.name, $0.value) })
            state.isSettled = isSettled
            if isSettled { state.limit = min(state.limit, Self.settled.limit) }
            guard announced ?? 0 <= state.limit else { return false }
            // Content-Length is the size of the compressed body.
            state.body = BodyBlocks(announced: head.headers.contains(name: "Content-Encoding") ? nil : announced)
            return true
        }
        guard fits else { return task.eventLoop.makeFailedFuture(BodyTooLarge()) }
        if isSettled { task.eventLoop.execute { self.limitTime(of: task) } }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    /// Ends the request soon, unless its whole answer came at once, as most do.
    private func limitTime(of task: HTTPClient.Task<HTTPResponse>) {
        guard state.withLock({ $0.task != nil }) else { return }
        let end = task.eventLoop.scheduleTask(in: Self.settled.time) { task.cancel() }
        task.futureResult.whenComplete { _ in end.cancel() }
    }

    func didReceiveBodyPart(task: HTTPClient.Task<HTTPResponse>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = state.withLock { state in
            guard state.body.count + part.readableBytes <= state.limit else { return false }
            state.body.append(part.readableBytesView)
            return true
        }
        return fits ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(BodyTooLarge())
    }

    func didFinishRequest(task: HTTPClient.Task<HTTPResponse>) -> HTTPResponse {
        state.withLock { HTTPResponse(status: $0.status, headers: $0.headers, body: $0.body.joined()) }
    }
}

/// Collects the pieces of a body in little more memory than the body takes. An array that grows by doubling needs up to three
/// times as much while it moves.
struct BodyBlocks {
    private var blocks: [[UInt8]] = []
    /// How many bytes still fit into the last block.
    private var room = 0
    private let step: Int
    private(set) var count = 0

    /// - Parameter announced: the `Content-Length`, if any.
    init(announced: Int?, step: Int = 4 << 20) {
        self.step = step
        if let announced, announced > 0 { begin(announced) }
    }

    mutating func append(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if room == 0 { begin(blocks.isEmpty ? max(64 << 10, rest.count) : step) }
            let part = rest.prefix(room)
            blocks[blocks.count - 1] += part
            room -= part.count
            count += part.count
            rest = rest.dropFirst(part.count)
        }
    }

    /// The whole body. Each block is freed once it is copied.
    mutating func joined() -> [UInt8] {
        if blocks.count <= 1 { return blocks.popLast() ?? [] }
        var body: [UInt8] = []
        body.reserveCapacity(count)
        blocks.reverse()
        while let block = blocks.popLast() { body += block }
        return body
    }

    private mutating func begin(_ size: Int) {
        blocks.append([])
        blocks[blocks.count - 1].reserveCapacity(size)
        room = size
    }
}
