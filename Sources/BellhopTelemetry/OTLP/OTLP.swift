public import BellhopCore

/// OTLP 1.x as JSON over HTTP (opentelemetry-proto, *JSON Protobuf Encoding*): ids are hexadecimal, and 64-bit numbers are strings.
public struct OTLP: Sendable {
    /// A kind of data, with its own path.
    public enum Signal: String, Sendable, Hashable, CaseIterable {
        case traces, metrics

        public var path: String { "/v1/" + rawValue }

        fileprivate var rejected: String { self == .traces ? "rejectedSpans" : "rejectedDataPoints" }
    }

    private let resource: JSON
    private let scope: JSON

    /// - Parameter instance: distinguishes this agent from others that send to the same receiver.
    public init(version: String, instance: String) {
        resource = [
            "attributes": Self.attributes([
                "service.name": "bellhop", "service.version": .string(version), "service.instance.id": .string(instance),
            ])
        ]
        scope = ["name": "bellhop", "version": .string(version)]
    }

    /// A request with spans (`ExportTraceServiceRequest`).
    public func request(_ spans: [Span]) -> JSON {
        ["resourceSpans": [["resource": resource, "scopeSpans": [["scope": scope, "spans": .array(spans.map(Self.span))]]]]]
    }

    /// A request with metrics (`ExportMetricsServiceRequest`), all of them cumulative.
    public func request(_ metrics: MetricsSnapshot) -> JSON {
        let families = metrics.families.map { family in
            var metric: JSON.Object = [
                "name": .string(family.instrument.name), "description": .string(family.instrument.help),
            ]
            switch family.instrument.unit {
            case .seconds: metric["unit"] = "s"
            case .bytes: metric["unit"] = "By"
            case nil: break
            }
            let points = JSON.array(family.series.map { Self.point($0, family.instrument, metrics) })
            switch family.instrument.kind {
            case .counter:
                metric["sum"] = ["dataPoints": points, "aggregationTemporality": Self.cumulative, "isMonotonic": true]
            case .gauge, .info: metric["gauge"] = ["dataPoints": points]
            case .histogram: metric["histogram"] = ["dataPoints": points, "aggregationTemporality": Self.cumulative]
            }
            return JSON.object(metric)
        }
        return ["resourceMetrics": [["resource": resource, "scopeMetrics": [["scope": scope, "metrics": .array(families)]]]]]
    }

    /// The number of refused items in the answer to a request that was otherwise accepted (`partialSuccess`).
    public static func rejected(in answer: JSON, _ signal: Signal) -> Int {
        let count = answer["partialSuccess"]?[signal.rejected]
        return max(count?.asString.flatMap(Int.init) ?? count?.asInt.map { Int($0) } ?? 0, 0)
    }

    private static let cumulative: JSON = 2

    private static func span(_ span: Span) -> JSON {
        var json: JSON.Object = [
            "traceId": .string(span.trace.text), "spanId": .string(span.id.text), "name": .string(span.name),
            "kind": .int(span.kind.rawValue), "startTimeUnixNano": nanoseconds(span.start),
            "endTimeUnixNano": nanoseconds(span.end), "attributes": attributes(span.attributes),
        ]
        if let parent = span.parent { json["parentSpanId"] = .string(parent.text) }
        if !span.moments.isEmpty {
            json["events"] = .array(span.moments.map { ["timeUnixNano": nanoseconds($0.time), "name": .string($0.name)] })
        }
        if let failure = span.failure { json["status"] = ["code": 2, "message": .string(failure)] }
        return .object(json)
    }

    private static func point(
        _ series: MetricsSnapshot.Series, _ instrument: Instrument, _ metrics: MetricsSnapshot
    ) -> JSON {
        var point: JSON.Object = [
            "attributes": attributes(JSON.Object(zip(instrument.labels, series.labels).map { ($0.name, JSON.string($1)) })),
            "timeUnixNano": nanoseconds(metrics.at),
        ]
        if instrument.isCumulative { point["startTimeUnixNano"] = nanoseconds(metrics.started) }
        switch series.value {
        case .count(let count): point["asInt"] = .string(String(count))
        case .number(let number): point["asDouble"] = .double(number)
        case .histogram(let histogram):
            point["count"] = .string(String(histogram.counts.reduce(0, +)))
            point["sum"] = .double(histogram.sum)
            point["bucketCounts"] = .array(histogram.counts.map { .string(String($0)) })
            if case .histogram(let bounds) = instrument.kind { point["explicitBounds"] = .array(bounds.map(JSON.double)) }
            point["exemplars"] = .array(
                histogram.exemplars.sorted { $0.key < $1.key }.map { _, exemplar in
                    [
                        "timeUnixNano": nanoseconds(exemplar.time), "asDouble": .double(exemplar.value),
                        "traceId": .string(exemplar.trace.text), "spanId": .string(exemplar.span.text),
                    ]
                })
        }
        return .object(point)
    }

    private static func attributes(_ attributes: JSON.Object) -> JSON {
        .array(
            attributes.map { key, value in
                let content: JSON =
                    switch value {
                    case .int(let number): ["intValue": .string(String(number))]
                    case .double: ["doubleValue": value]
                    case .bool: ["boolValue": value]
                    case .string, .null, .array, .object: ["stringValue": .string(value.asString ?? value.text)]
                    }
                return ["key": .string(key), "value": content]
            })
    }

    private static func nanoseconds(_ time: Timestamp) -> JSON { .string(String(time.microseconds) + "000") }
}

extension Instrument {
    fileprivate var isCumulative: Bool {
        switch kind {
        case .counter, .histogram: true
        case .gauge, .info: false
        }
    }
}
