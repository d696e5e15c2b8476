import BellhopCore
import Synchronization

/// Sends requests, and records the server's time and its request limit from the answers.
///
/// A class with a lock, because all requests of a connection share it.
final class AnswerWatch: HTTPExchange {
    /// The latest time and request limit in the origin's answers.
    struct Values: Sendable, Hashable {
        var time: Timestamp?
        var limit: RateLimit?
    }

    private let origin: HTTPAddress
    private let exchange: any HTTPExchange
    private let state = Mutex(Values())

    /// - Parameter origin: only its answers are recorded.
    init(_ origin: HTTPAddress, _ exchange: any HTTPExchange) { (self.origin, self.exchange) = (origin, exchange) }

    var latest: Values { state.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let response = try await exchange.send(request)
        guard request.address.hasOrigin(of: origin) else { return response }
        let time = response.headers["Date"].flatMap { Timestamp(httpDate: $0) }
        let limit = RateLimit(response.headers)
        state.withLock { latest in
            latest.time = time ?? latest.time
            latest.limit = limit ?? latest.limit
        }
        return response
    }
}

/// The number of requests that a server allows per time window of its choice.
struct RateLimit: Sendable, Hashable {
    var limit: Int
    /// The remaining requests; nil if not reported.
    var left: Int?

    init(_ limit: Int, left: Int? = nil) { (self.limit, self.left) = (limit, left) }

    /// Reads the header fields in common use; nil if there are none.
    init?(_ headers: HeaderFields) {
        for prefix in ["X-RateLimit-", "RateLimit-", "X-Rate-Limit-"] {
            guard let limit = headers[prefix + "Limit"].flatMap(Self.number) else { continue }
            self.init(limit, left: headers[prefix + "Remaining"].flatMap(Self.number))
            return
        }
        // The IETF draft that replaces them: `RateLimit-Policy: "default";q=100;w=60` and `RateLimit: "default";r=50;t=30`.
        guard let limit = headers["RateLimit-Policy"].flatMap({ Self.parameter("q", of: $0) }) else { return nil }
        self.init(limit, left: headers["RateLimit"].flatMap { Self.parameter("r", of: $0) })
    }

    private static func number(_ text: String) -> Int? { Int(text.drop { $0 == " " }.prefix { $0.isNumber }) }

    /// A parameter of the field's first item, such as `t` in `"default";r=50;t=30`.
    static func parameter(_ name: String, of text: String) -> Int? {
        let first = text.prefix { $0 != "," }
        for part in first.split(separator: ";").map({ ASCII.trimmed($0) }) where part.hasPrefix(name + "=") {
            return number(String(part.dropFirst(name.count + 1)))
        }
        return nil
    }
}

extension Finding {
    /// The finding for the difference between a server's clock and this machine's.
    static func clock(_ serverTime: Timestamp?, here now: Timestamp, server: String) -> Finding {
        guard let serverTime else { return Finding("clock", .unknown, "\(server) does not report its time") }
        let skew = serverTime - now
        let seconds = Int(abs(skew.seconds))
        if seconds <= 60 { return Finding("clock", .ok, "the clocks agree") }
        return Finding(
            "clock", .note, "this machine's clock is \(seconds) s \(skew > .zero ? "behind" : "ahead of") \(server)'s",
            remedy: "synchronize it with a time server")
    }

    /// The finding for a server's request limit; nil if it reports none.
    static func limit(_ limit: RateLimit?, server: String) -> Finding? {
        guard let limit else { return nil }
        let left = limit.left.map { ", of which \($0) were left" } ?? ""
        return Finding(
            "rate limit", .note, "\(server) allows \(limit.limit) requests in its time window\(left)",
            remedy: "a longer `every`, or `rate:` on the connection, stays below it")
    }
}
