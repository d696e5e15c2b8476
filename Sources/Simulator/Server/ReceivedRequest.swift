import BellhopCore
import Synchronization

public struct ReceivedRequest: Sendable, Hashable {
    public struct Header: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    /// In upper case.
    public var method: String
    /// Percent-decoded, without the query.
    public var path: String
    /// As sent, without the question mark; "" if there was none.
    public var query: String
    public var headers: [Header]
    public var body: [UInt8]
    /// When it was complete: microseconds since 1970 UTC by the simulation's clock.
    public var time: Int64

    /// The body as text; invalid UTF-8 is replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The first header of that name, ignoring case.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    /// The decoded pairs of the query, in order; a plus sign is a blank.
    public var parameters: [(name: String, value: String)] { PercentEncoding.pairs(query) }

    public var form: [(name: String, value: String)] { PercentEncoding.pairs(text) }

    /// The decoded fields of a form body by name; of equal names, the last one counts.
    var formFields: [String: String] { Dictionary(form.map { ($0.name, $0.value) }) { $1 } }

    /// The name and the password of an `Authorization` field with the scheme Basic; nil if it is not exactly as RFC 7617 says.
    var basicCredentials: (name: String, password: String)? {
        guard let pair = credentials("Basic").flatMap({ Base64.decode($0, padding: .required) }),
            let colon = pair.firstIndex(of: UInt8(ascii: ":")), let name = String(validating: pair[..<colon], as: UTF8.self),
            let password = String(validating: pair[(colon + 1)...], as: UTF8.self)
        else { return nil }
        return (name, password)
    }

    /// The token of an `Authorization` field with the scheme Bearer.
    var bearerToken: String? { credentials("Bearer") }

    private func credentials(_ scheme: String) -> String? {
        guard let field = header("Authorization"), field.lowercased().hasPrefix(scheme.lowercased() + " ") else { return nil }
        return String(field.dropFirst(scheme.count + 1))
    }

    public func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    var cookies: [String: String] {
        var cookies: [String: String] = [:]
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in CookieHeader.pairs(header.value) { cookies[String(pair.name)] = String(pair.value) }
        }
        return cookies
    }

    var segments: [String] { path.split(separator: "/").map(String.init) }
}

/// The last 10,000 requests, oldest first.
///
/// A class over a lock, because the server's tasks add requests while others read them.
public final class RequestLog: Sendable {
    private struct State {
        var requests: [ReceivedRequest] = []
        var total = 0
    }

    private let state = Mutex(State())

    init() {}

    /// The number of requests since the start or the last `clear`, including those no longer kept.
    public var total: Int { state.withLock { $0.total } }

    public var all: [ReceivedRequest] { state.withLock { $0.requests } }

    /// Requests with this method and this start of the path; nil matches all.
    public func matching(_ method: String? = nil, path: String? = nil) -> [ReceivedRequest] {
        all.filter { (method == nil || $0.method == method) && (path.map($0.path.hasPrefix) ?? true) }
    }

    public func count(_ method: String? = nil, path: String? = nil) -> Int { matching(method, path: path).count }

    public func clear() { state.withLock { $0 = State() } }

    func note(_ request: ReceivedRequest) {
        state.withLock { state in
            state.total += 1
            state.requests.appendToLog(request)
        }
    }
}

extension Array {
    /// Appends an element to a list of which at least the last 10,000 are kept.
    mutating func appendToLog(_ element: Element) {
        append(element)
        if count > 20_000 { removeFirst(10_000) }
    }
}
