public import BellhopCore

public struct HTTPRequest: Sendable, Hashable {
    public var method: String
    public var address: HTTPAddress
    public var headers: HeaderFields
    public var body: [UInt8]?
    /// From its start to the last byte of its answer; nil for the connection's timeout.
    public var timeout: Duration?
    /// The request is not sent after this moment, even if it only waited for its turn; nil for no limit.
    public var notAfter: Timestamp?
    /// Whether sending it twice is harmless, because the receiver recognizes it or a duplicate does no harm; nil if only its method
    /// says so.
    var isRepeatable: Bool?
    /// The statuses for which the body is not needed and may be cut off.
    var bodyNotNeededFor: StatusSet?

    public init(
        _ method: String, _ address: HTTPAddress, headers: HeaderFields = [:], body: [UInt8]? = nil,
        timeout: Duration? = nil, notAfter: Timestamp? = nil
    ) {
        self.method = method
        self.address = address
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.notAfter = notAfter
    }

    /// A `GET` request.
    public init(_ address: HTTPAddress, headers: HeaderFields = [:], timeout: Duration? = nil) {
        self.init("GET", address, headers: headers, timeout: timeout)
    }

    static let maxRedirects = 5

    /// Adds the current trace context, unless the request has one (W3C Trace Context, section 3.2).
    mutating func addTraceContext() {
        guard let context = TraceContext.current, headers["traceparent"] == nil else { return }
        headers.add("traceparent", context.traceparent)
    }

    public var changesSomething: Bool { !["GET", "HEAD", "OPTIONS"].contains(method) }
}

extension HTTPRequest: CustomStringConvertible {
    /// The request without possible secrets.
    public var description: String { "\(method) \(address)" }
}

/// A complete answer, with its whole body.
public struct HTTPResponse: Sendable, Hashable {
    public var status: Int
    public var headers: HeaderFields
    public var body: [UInt8]

    public init(status: Int, headers: HeaderFields = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    public var isSuccess: Bool { 200..<300 ~= status }
}

/// Sends requests. Redirects are returned like any other answer; the caller decides whether to follow one.
public protocol HTTPExchange: Sendable {
    /// The executor of its connections; nil if they have no preferred one.
    var executor: (any TaskExecutor)? { get }
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
}

extension HTTPExchange {
    public var executor: (any TaskExecutor)? { nil }

    /// Sends a request; throws transport errors as failures.
    func send(_ request: HTTPRequest, changesSomething: Bool) async throws(Failure) -> HTTPResponse {
        do { return try await send(request) } catch { throw error.failure(changesSomething: changesSomething) }
    }
}
