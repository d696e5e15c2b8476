import BellhopCore
import Crypto

/// A body that is produced while it is sent.
protocol ConsoleStream: Sendable {
    /// The next piece; nil after the last one.
    mutating func next() async throws -> String?
}

/// The answer to one request.
struct ConsoleAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Sent piece by piece, until it ends or the client disconnects.
        case stream(any ConsoleStream)
    }

    var status: Int
    var fields: [(name: String, value: String)]
    var body: Body

    init(_ status: Int, type: String, _ body: [UInt8], fields: [(name: String, value: String)] = []) {
        self.status = status
        self.fields = [("Content-Type", type)] + fields
        self.body = .bytes(body)
    }

    init(stream type: String, _ body: any ConsoleStream) {
        status = 200
        // nginx passes such an answer on at once; otherwise it collects some kilobytes first.
        fields = [("Content-Type", type), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no")]
        self.body = .stream(body)
    }

    static func json(_ value: JSON, status: Int = 200) -> ConsoleAnswer {
        ConsoleAnswer(status, type: "application/json", value.encoded())
    }

    static func page(_ html: HTML, status: Int = 200) -> ConsoleAnswer {
        ConsoleAnswer(status, type: "text/html; charset=utf-8", Array(html.text.utf8))
    }

    /// Redirects a browser, after a change.
    static func seeOther(_ place: String) -> ConsoleAnswer {
        ConsoleAnswer(303, type: "text/plain; charset=utf-8", [], fields: [("Location", place)])
    }

    init(_ problem: Problem) {
        self.init(problem.status, type: "application/problem+json", problem.json.encoded(), fields: Self.fields(problem))
    }

    static func fields(_ problem: Problem) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let seconds = problem.retryAfter { fields.append(("Retry-After", String(seconds))) }
        if let allow = problem.allow { fields.append(("Allow", allow)) }
        if problem.status == 401 { fields.append(("WWW-Authenticate", "Bearer realm=\"Bellhop\"")) }
        return fields
    }

    /// This answer with an entity tag of its content.
    func tagged(as tag: String) -> ConsoleAnswer {
        var answer = self
        answer.fields.append(("ETag", "\"\(tag)\""))
        return answer
    }

    /// This answer with an entity tag, made from the body if it has none; 304 without a body if the client has the same content
    /// (RFC 9110, section 13).
    func tagged(for request: ConsoleRequest) -> ConsoleAnswer {
        guard status == 200, request.method == "GET" || request.method == "HEAD", case .bytes(let bytes) = body else {
            return self
        }
        var answer = self
        let own = fields.first { $0.name == "ETag" }?.value
        let tag = own ?? Self.tag(bytes)
        if own == nil { answer.fields.append(("ETag", tag)) }
        answer.fields.append(("Cache-Control", "private, no-cache"))
        let known = request.header("if-none-match")?.split(separator: ",").map { $0.drop { $0 == " " } } ?? []
        if known.contains(where: { $0 == tag || $0 == "W/" + tag || $0 == "*" }) {
            answer.status = 304
            answer.body = .bytes([])
        }
        return answer
    }

    static func tag(_ bytes: [UInt8]) -> String { "\"" + Hexadecimal.text(SHA256.hash(data: bytes).prefix(16)) + "\"" }
}
