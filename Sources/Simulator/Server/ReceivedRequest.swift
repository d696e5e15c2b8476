import BellhopCore

/// A complete HTTP request.
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
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The decoded pairs of the query, in order; a plus sign is a blank.
    public var parameters: [(name: String, value: String)] { PercentEncoding.pairs(query) }

    /// The decoded pairs of a form body.
    public var form: [(name: String, value: String)] { PercentEncoding.pairs(text) }

    /// The decoded fields of a form body by name; of equal names, the last one counts.
    var formFields: [String: String] { Dictionary(form.map { ($0.name, $0.value) }) { $1 } }

    public func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The request's cookies by name.
    var cookies: [String: String] {
        var cookies: [String: String] = [:]
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in header.value.split(separator: ";") {
                let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if halves.count == 2 { cookies[String(halves[0])] = String(halves[1]) }
            }
        }
        return cookies
    }

    /// Parts of the path between slashes.
    var segments: [String] { path.split(separator: "/").map(String.init) }
}
