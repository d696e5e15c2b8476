/// A text format for metrics.
public enum MetricsFormat: Sendable, Hashable, CaseIterable {
    /// Prometheus's text format, version 0.0.4.
    case prometheus
    /// OpenMetrics 1.0, with exemplars.
    case openMetrics

    /// The value of `Content-Type`.
    public var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format that an `Accept` field prefers; Prometheus's text format without the field, or if it names neither format.
    public init(accept: String?) {
        var best: (format: MetricsFormat, weight: Double)?
        for range in (accept ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.trimmed.lowercased() }
            let parameters = parts.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map { $0.trimmed } }
            func parameter(_ name: String) -> String? { parameters.first { $0.first == name && $0.count == 2 }?.last }
            let version = parameter("version")
            let weight = parameter("q").map { Double($0) ?? 0 } ?? 1
            let format: MetricsFormat? =
                switch parts.first {
                case "application/openmetrics-text": [nil, "1.0.0"].contains(version) ? .openMetrics : nil
                case "text/plain": [nil, "0.0.4"].contains(version) ? .prometheus : nil
                case "*/*", "text/*": .prometheus
                default: nil
                }
            if let format, weight > best?.weight ?? 0 { best = (format, weight) }
        }
        self = best?.format ?? .prometheus
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        return String(start[..<(start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:)) ?? start.startIndex)])
    }
}
