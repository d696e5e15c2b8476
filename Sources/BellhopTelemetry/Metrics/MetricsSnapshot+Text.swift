import BellhopCore

extension MetricsSnapshot {
    /// The text of a scrape. The lines of each family are together.
    public func text(_ format: MetricsFormat) -> String {
        var writer = MetricsWriter(format: format)
        for family in families { writer.write(family) }
        return writer.end()
    }
}

private struct MetricsWriter {
    let format: MetricsFormat
    private var text = ""

    init(format: MetricsFormat) { self.format = format }

    mutating func write(_ family: MetricsSnapshot.Family) {
        let instrument = family.instrument
        let isOpenMetrics = format == .openMetrics
        let name = isOpenMetrics ? instrument.family : instrument.name
        let type =
            switch instrument.kind {
            case .info where !isOpenMetrics: "gauge"
            case .counter, .gauge, .info, .histogram: instrument.kind.name
            }
        text += "# HELP \(name) \(escaped(instrument.help, quotes: isOpenMetrics))\n# TYPE \(name) \(type)\n"
        if isOpenMetrics, let unit = instrument.unit { text += "# UNIT \(name) \(unit.rawValue)\n" }
        for series in family.series { write(series, of: instrument) }
    }

    func end() -> String {
        switch format {
        case .prometheus: text
        case .openMetrics: text + "# EOF\n"
        }
    }

    private mutating func write(_ series: MetricsSnapshot.Series, of instrument: Instrument) {
        let labels = zip(instrument.labels.map(\.name), series.labels).map { ($0, $1) }
        switch series.value {
        case .count(let count): line(instrument.name, labels, String(count))
        case .number(let number): line(instrument.name, labels, Self.text(number))
        case .histogram(let histogram): write(histogram, labels, of: instrument)
        }
    }

    private mutating func write(
        _ histogram: MetricsSnapshot.Histogram, _ labels: [(String, String)], of instrument: Instrument
    ) {
        guard case .histogram(let bounds) = instrument.kind else { return }
        var total: Int64 = 0
        for (place, count) in histogram.counts.enumerated() {
            total += count
            let bound = place < bounds.count ? bounds[place] : .infinity
            line(
                instrument.name + "_bucket", labels + [("le", Self.text(bound))], String(total),
                exemplar: histogram.exemplars[place])
        }
        line(instrument.name + "_count", labels, String(total))
        line(instrument.name + "_sum", labels, Self.text(histogram.sum))
    }

    private mutating func line(
        _ name: String, _ labels: [(String, String)], _ value: String, exemplar: Exemplar? = nil
    ) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0)=\"\(escaped($1, quotes: true))\"" }.joined(separator: ",") + "}"
        }
        text += " " + value
        if let exemplar, format == .openMetrics {
            let time = Double(exemplar.time.microseconds) / 1e6
            text +=
                " # {trace_id=\"\(exemplar.trace.text)\",span_id=\"\(exemplar.span.text)\"} \(Self.text(exemplar.value)) \(Self.decimal(time))"
        }
        text += "\n"
    }

    /// A number with a point or an exponent. The text is the same in both formats, so that a bucket has the same `le` label in both.
    private static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        return number.description
    }

    /// A number of seconds with three decimals, without an exponent.
    private static func decimal(_ seconds: Double) -> String {
        let thousandths = Int64(seconds * 1000)
        let rest = String(thousandths % 1000)
        return "\(thousandths / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }

    private func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\"") })
        else { return text }
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}

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
            let parts = range.split(separator: ";").map { String($0).trimmedBlanks.lowercased() }
            let parameters = parts.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map { String($0).trimmedBlanks } }
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
