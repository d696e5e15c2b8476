import BellhopCore
import NIOCore
import NIOHTTP1

/// Collects the whole answer to a request.
final class AnswerCollector: AnswerReader {
    private var status = 0
    private var headers = HeaderFields()
    private var body = BodyBlocks(announced: nil)
    /// The largest body, in bytes.
    private var limit: Int
    private let bodyNotNeededFor: StatusSet?
    /// True after a status that is enough without the body: the request can no longer fail.
    private var isSettled = false
    private let progress: Progress

    /// How many bytes of the body are read, and for how long, after such a status, so that the connection can be reused.
    static let settled = (limit: 64 << 10, time: TimeAmount.seconds(2))

    /// - Parameters:
    ///   - limit: the largest body, in bytes.
    ///   - bodyNotNeededFor: statuses after which the body no longer matters. The body is then empty if it is large, slow or
    ///     cut off.
    init(limit: Int, bodyNotNeededFor: StatusSet?, _ progress: Progress) {
        (self.limit, self.bodyNotNeededFor, self.progress) = (limit, bodyNotNeededFor, progress)
    }

    func read(_ head: HTTPResponseHead, of call: Call) throws {
        progress.answered()
        status = Int(head.status.code)
        headers = HeaderFields(head.headers.map { HeaderFields.Field($0.name, $0.value) })
        isSettled = bodyNotNeededFor?.contains(status) ?? false
        if isSettled { limit = min(limit, Self.settled.limit) }
        // Such an answer only names the length that a body would have.
        let isBodiless = call.request.head.method == .HEAD || head.status == .notModified
        let announced = isBodiless ? nil : head.headers.first(name: "Content-Length").flatMap { Int($0) }
        guard announced ?? 0 <= limit else { throw BodyTooLarge() }
        // Content-Length is the size of the compressed body.
        body = BodyBlocks(announced: head.headers.contains(name: "Content-Encoding") ? nil : announced)
    }

    func read(_ part: ByteBuffer) throws {
        guard body.count + part.readableBytes <= limit else { throw BodyTooLarge() }
        body.append(part.readableBytesView)
    }

    /// The answer without its body.
    var head: HTTPResponse { HTTPResponse(status: status, headers: headers) }

    var patience: TimeAmount? { isSettled ? Self.settled.time : nil }

    func end(_ error: (any Error)?) -> Result<HTTPResponse, any Error> {
        if let error, !isSettled { return .failure(error) }
        return .success(HTTPResponse(status: status, headers: headers, body: error == nil ? body.joined() : []))
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
