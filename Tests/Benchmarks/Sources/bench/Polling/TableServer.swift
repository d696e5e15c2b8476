import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A Table API on this machine, as far as a sync needs it: its pages are prepared, so that it only sends them.
///
/// A class with a mutex, because its connections run on another thread.
final class TableServer: Sendable {
    /// The requests since the last reset.
    struct Traffic: Sendable, Hashable {
        var requests = 0
        var received = 0
        var sent = 0
    }

    /// The body of an answer, and the row count in its header.
    private struct Answer: Sendable {
        var body: ByteBuffer
        var total: Int
    }

    private let table: TableAnswer
    private let pages: [ByteBuffer]
    private let traffic = Mutex(Traffic())
    private let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener = Mutex<(any Channel)?>(nil)

    init(_ table: TableAnswer) {
        self.table = table
        pages = table.pages.map { ByteBuffer(bytes: $0) }
    }

    /// Listens on a free port and returns the instance's address.
    func start() async throws -> String {
        let channel = try await ServerBootstrap(group: threads).serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1).childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(Turn(self))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        listener.withLock { $0 = channel }
        guard let port = channel.localAddress?.port else { throw BenchError("the server has no port") }
        return "http://127.0.0.1:\(port)"
    }

    func stop() async throws {
        try await listener.withLock { $0 }?.close().get()
        try await threads.shutdownGracefully()
    }

    func takeTraffic() -> Traffic {
        traffic.withLock { traffic in
            defer { traffic = Traffic() }
            return traffic
        }
    }

    /// The address of a page, as the agent requests it.
    static func path(after sysID: String) -> String {
        let place = sysID.isEmpty ? "" : "%5Esys_id%3E\(sysID)"
        return "/api/now/v2/table/\(TableAnswer.table)?sysparm_query=active%3Dtrue\(place)%5EORDERBYsys_id"
    }

    private func answer(_ address: String) -> Answer {
        func text(_ text: String, _ total: Int) -> Answer { Answer(body: ByteBuffer(string: text), total: total) }
        let parts = address.split(separator: "?", maxSplits: 1)
        switch parts.first?.split(separator: "/").last {
        case "sys_user":
            let id = String(repeating: "6", count: 32)
            return text(
                "{\"result\":[{\"name\":\"John Doe\",\"email\":\"\",\"sys_id\":\"\(id)\",\"user_name\":\"john.doe\"}]}", 1)
        case "sys_dictionary": return text(Self.dictionary, Self.columns.count)
        case "incident":
            if address.contains("sys_updated_on%3E%3D") { return text("{\"result\":[]}", 0) }  // no row was changed
            let place = address.firstRange(of: "sys_id%3E").map { String(address[$0.upperBound...].prefix(32)) } ?? ""
            guard let page = table.page(after: place), page < pages.count else { return text("{\"result\":[]}", 0) }
            return Answer(body: pages[page], total: table.rows(from: page))
        default: return text("{\"result\":[]}", 0)
        }
    }

    private static let columns = [
        ("sys_id", "GUID"), ("number", "string"), ("short_description", "string"), ("sys_class_name", "sys_class_name"),
        ("active", "boolean"), ("assigned_to", "reference"), ("priority", "integer"), ("urgency", "integer"),
        ("impact", "integer"), ("state", "integer"), ("assignment_group", "reference"), ("opened_by", "reference"),
        ("opened_at", "glide_date_time"), ("due_date", "glide_date_time"), ("sys_created_on", "glide_date_time"),
        ("sys_updated_on", "glide_date_time"), ("sys_updated_by", "string"), ("sys_mod_count", "integer"),
    ]

    private static let dictionary: String = {
        let rows = columns.map { name, type in
            "{\"name\":\"task\",\"element\":\"\(name)\",\"internal_type\":\"\(type)\",\"reference\":\"\"}"
        }
        return "{\"result\":[\(rows.joined(separator: ","))]}"
    }()

    fileprivate func reply(to request: HTTPRequestHead) -> (HTTPResponseHead, ByteBuffer) {
        let answer = answer(request.uri)
        let headers: HTTPHeaders = [
            "Content-Type": "application/json;charset=UTF-8", "Content-Length": String(answer.body.readableBytes),
            "X-Total-Count": String(answer.total), "Set-Cookie": "JSESSIONID=1; Path=/; HttpOnly",
        ]
        traffic.withLock { traffic in
            traffic.requests += 1
            traffic.received +=
                request.uri.utf8.count + request.headers.reduce(16) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
            traffic.sent += answer.body.readableBytes + headers.reduce(19) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        }
        return (HTTPResponseHead(version: .http1_1, status: .ok, headers: headers), answer.body)
    }
}

/// Answers each request of a connection once it is complete.
private final class Turn: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let server: TableServer
    private var request: HTTPRequestHead?

    init(_ server: TableServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: break
        case .end:
            guard let request else { return }
            let (head, body) = server.reply(to: request)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
