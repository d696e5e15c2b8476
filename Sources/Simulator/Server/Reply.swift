import BellhopCore

/// An HTTP answer, before any fault is applied.
struct Reply: Sendable {
    var status: Int
    var headers: [ReceivedRequest.Header] = []
    var body: [UInt8] = []

    init(_ status: Int, type: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.body = body
        if let type { set("Content-Type", type) }
    }

    static func json(_ status: Int, _ value: JSON) -> Reply {
        Reply(status, type: "application/json;charset=UTF-8", body: value.encoded())
    }

    static func text(_ status: Int, _ text: String) -> Reply {
        Reply(status, type: "text/plain;charset=utf-8", body: Array(text.utf8))
    }

    static func html(_ status: Int, _ page: String) -> Reply {
        Reply(status, type: "text/html;charset=UTF-8", body: Array(page.utf8))
    }

    /// The platform's error envelope.
    static func error(_ status: Int, _ message: String, detail: String?) -> Reply {
        .json(status, ["error": ["message": .string(message), "detail": .optional(detail)], "status": "failure"])
    }

    /// An `ETag` for the body.
    var tag: String { "\"\(Fingerprint(content: body).hex)\"" }

    mutating func add(_ name: String, _ value: String) { headers.append(.init(name: name, value: value)) }

    mutating func set(_ name: String, _ value: String) {
        headers.removeAll { $0.name.lowercased() == name.lowercased() }
        add(name, value)
    }

    func with(_ name: String, _ value: String) -> Reply {
        var copy = self
        copy.set(name, value)
        return copy
    }
}

/// The replies of the platform's APIs that occur in several of them.
extension Reply {
    /// A query or a parameter that the instance does not know.
    static func unknown(_ problem: QueryProblem) -> Reply {
        .error(400, "Simulator: \(problem.message)", detail: "The real server would ignore it; see the fault sloppy_queries")
    }

    static let noRecord = Reply.error(
        404, "No Record found", detail: "Record doesn't exist or ACL restricts the record retrieval")
    static let noResource = Reply.error(400, "Requested URI does not represent any resource", detail: nil)
    static let wrongMethod = Reply.error(405, "Method not supported", detail: nil)
    static let notAuthenticated = Reply.error(401, "User Not Authenticated", detail: "Required to provide Auth information")
    static let readRefused = Reply.error(403, "Insufficient rights to query records", detail: nil)
    static let insertRefused = Reply.error(
        403, "Operation Failed", detail: "ACL Exception Insert Failed due to security constraints")
}

/// Why a simulated system refuses a request: its answer.
struct Refusal: Error {
    var reply: Reply

    init(_ reply: Reply) { self.reply = reply }
    init(_ status: Int, _ answer: JSON) { reply = .json(status, answer) }
}
