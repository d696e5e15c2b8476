public import BellhopCore

/// A request, whole.
public struct HTTPRequest: Sendable, Hashable {
    public var method: String
    public var address: HTTPAddress
    public var headers: HeaderFields
    public var body: [UInt8]?
    /// From its start to the last byte of its answer; nil for the connection's own.
    public var timeout: Duration?
    /// Once this moment has passed the request is not sent any more; nil for no such bound. Waiting for a turn counts.
    public var notAfter: Timestamp?

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

    /// A `GET`.
    public init(_ address: HTTPAddress, headers: HeaderFields = [:], timeout: Duration? = nil) {
        self.init("GET", address, headers: headers, timeout: timeout)
    }

    /// Whether asking twice is not the same as asking once.
    public var changesSomething: Bool { !["GET", "HEAD", "OPTIONS"].contains(method) }
}

extension HTTPRequest: CustomStringConvertible {
    /// The request without what may be secret.
    public var description: String { "\(method) \(address)" }
}

/// An answer, whole: its body was read to the end.
public struct HTTPResponse: Sendable, Hashable {
    public var status: Int
    public var headers: HeaderFields
    public var body: [UInt8]

    public init(status: Int, headers: HeaderFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    public var isSuccess: Bool { 200..<300 ~= status }
}

/// Sends requests. Redirects are answers like any other: whoever follows one decides so.
public protocol HTTPExchange: Sendable {
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
}
