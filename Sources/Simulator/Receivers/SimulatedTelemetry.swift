public import BellhopCore
import Synchronization

/// An OpenTelemetry receiver: OTLP over HTTP with JSON bodies, under `/otlp`. Refuses bodies that violate opentelemetry-proto's
/// JSON encoding.
///
/// A class over a mutex, because requests arrive on several threads.
public final class SimulatedTelemetry: Sendable {
    /// A span as it arrived.
    public struct Span: Sendable, Hashable {
        public var trace: String
        public var id: String
        public var parent: String?
        public var name: String
        public var start: Int64
        public var end: Int64
        public var attributes: [String: JSON]
        public var isError: Bool
    }

    private struct State {
        var spans: [Span] = []
        var metrics: [String: JSON] = [:]
        /// How many items each answer reports as refused.
        var refusedItems = 0
    }

    private let state = Mutex(State())

    init() {}

    public var spans: [Span] { state.withLock { $0.spans } }

    /// The latest state of each metric, by its name.
    public var metrics: [String: JSON] { state.withLock { $0.metrics } }

    /// Makes each answer report this many items as refused; 0 for none.
    public func refuse(_ count: Int) { state.withLock { $0.refusedItems = count } }

    func answer(_ request: ReceivedRequest) -> Reply {
        guard request.method == "POST" else { return .text(405, "method not allowed") }
        guard request.header("Content-Type") == "application/json" else { return .text(415, "unsupported media type") }
        guard let body = try? JSON.parse(request.body) else { return .text(400, "bad JSON") }
        do throws(Mistake) {
            return try state.withLock { state throws(Mistake) in
                let rejected: String
                switch request.segments.dropFirst().joined(separator: "/") {
                case "v1/traces":
                    state.spans += try Self.spans(body)
                    rejected = "rejectedSpans"
                case "v1/metrics":
                    try Self.metrics(body, into: &state.metrics)
                    rejected = "rejectedDataPoints"
                default: return .text(404, "not found")
                }
                guard state.refusedItems > 0 else { return .json(200, [:]) }
                let count = JSON.string(String(state.refusedItems))
                return .json(200, ["partialSuccess": [rejected: count, "errorMessage": "too old"]])
            }
        } catch {
            return .text(400, error.reason)
        }
    }

    private struct Mistake: Error { var reason: String }

    private static func spans(_ body: JSON) throws(Mistake) -> [Span] {
        var spans: [Span] = []
        for json in try items(body, "resourceSpans", "scopeSpans", "spans") {
            let (start, end) = (try nanoseconds(json, "startTimeUnixNano"), try nanoseconds(json, "endTimeUnixNano"))
            guard start <= end else { throw Mistake(reason: "a span ends before it starts") }
            guard let name = json["name"]?.asString, !name.isEmpty else { throw Mistake(reason: "a span has no name") }
            guard let kind = json["kind"]?.asInt, 1...5 ~= kind else {
                throw Mistake(reason: "a span's kind is not a number from 1 to 5")
            }
            for event in json["events"]?.asArray ?? [] { _ = try nanoseconds(event, "timeUnixNano") }
            spans.append(
                Span(
                    trace: try digits(json["traceId"], 32), id: try digits(json["spanId"], 16),
                    parent: json["parentSpanId"] == nil ? nil : try digits(json["parentSpanId"], 16), name: name, start: start,
                    end: end, attributes: try attributes(json["attributes"]), isError: json["status"]?["code"] == 2))
        }
        return spans
    }

    private static func metrics(_ body: JSON, into metrics: inout [String: JSON]) throws(Mistake) {
        for metric in try items(body, "resourceMetrics", "scopeMetrics", "metrics") {
            guard let name = metric["name"]?.asString, !name.isEmpty else { throw Mistake(reason: "a metric has no name") }
            guard let data = metric["sum"] ?? metric["gauge"] ?? metric["histogram"], let points = data["dataPoints"]?.asArray
            else { throw Mistake(reason: "\(name) has no data") }
            for point in points {
                _ = try nanoseconds(point, "timeUnixNano")
                _ = try attributes(point["attributes"])
                if metric["gauge"] == nil {
                    guard data["aggregationTemporality"] == 2 else { throw Mistake(reason: "\(name) is not cumulative") }
                    _ = try nanoseconds(point, "startTimeUnixNano")
                }
                if metric["histogram"] != nil {
                    let counts = try (point["bucketCounts"]?.asArray ?? []).map { json throws(Mistake) in try number(json, name) }
                    guard counts.count == (point["explicitBounds"]?.asArray?.count ?? 0) + 1,
                        try number(point["count"], name) == counts.reduce(0, +)
                    else { throw Mistake(reason: "the bucket counts of \(name) do not match its bounds or its count") }
                } else if point["asDouble"]?.asDouble == nil {
                    _ = try number(point["asInt"], name)
                }
            }
            metrics[name] = metric
        }
    }

    /// The innermost elements of a request, whose resource must have a name.
    private static func items(_ body: JSON, _ outer: String, _ middle: String, _ inner: String) throws(Mistake) -> [JSON] {
        guard let resources = body[outer]?.asArray else { throw Mistake(reason: "there is no list \(outer)") }
        var items: [JSON] = []
        for resource in resources {
            guard try attributes(resource["resource"]?["attributes"])["service.name"]?.asString?.isEmpty == false else {
                throw Mistake(reason: "a resource has no service.name")
            }
            for scope in resource[middle]?.asArray ?? [] { items += scope[inner]?.asArray ?? [] }
        }
        return items
    }

    private static func attributes(_ json: JSON?) throws(Mistake) -> [String: JSON] {
        var attributes: [String: JSON] = [:]
        for pair in json?.asArray ?? [] {
            guard let key = pair["key"]?.asString, let value = pair["value"]?.asObject, value.count == 1 else {
                throw Mistake(reason: "an attribute is not a key with one value")
            }
            if let text = value["stringValue"], text.asString != nil {
                attributes[key] = text
            } else if let number = value["intValue"] {
                attributes[key] = .int(try self.number(number, key))
            } else if let other = value["doubleValue"] ?? value["boolValue"] {
                attributes[key] = other
            } else {
                throw Mistake(reason: "the value of \(key) has an unknown type")
            }
        }
        return attributes
    }

    private static func digits(_ json: JSON?, _ count: Int) throws(Mistake) -> String {
        guard let text = json?.asString, text.utf8.count == count, text.contains(where: { $0 != "0" }),
            text.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 })
        else { throw Mistake(reason: "an id is not \(count) hexadecimal digits") }
        return text
    }

    /// Reads a 64-bit number, which OTLP's JSON writes as a text.
    private static func number(_ json: JSON?, _ name: String) throws(Mistake) -> Int64 {
        guard let number = json?.asString.flatMap(Int64.init) else { throw Mistake(reason: "\(name) is not a number in a text") }
        return number
    }

    private static func nanoseconds(_ json: JSON, _ name: String) throws(Mistake) -> Int64 {
        let time = try number(json[name], name)
        guard time > 1_000_000_000_000_000_000 else { throw Mistake(reason: "\(name) is not in nanoseconds") }
        return time
    }
}
