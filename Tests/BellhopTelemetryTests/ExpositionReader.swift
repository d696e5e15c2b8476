import BellhopTelemetry

/// Reads metrics as text, by the specifications of Prometheus's text format 0.0.4 and of OpenMetrics 1.0, and refuses what these
/// forbid. Written from these, without a look at the writer.
struct ExpositionReader {
    struct Sample: Equatable {
        var name: String
        var labels: [String: String]
        var value: Double
        var exemplar: Exemplar?
    }

    struct Exemplar: Equatable {
        var labels: [String: String]
        var value: Double
        var time: Double?
    }

    struct Family {
        var type: String?
        var unit: String?
        var help: String?
        var samples: [Sample] = []
    }

    struct Mistake: Error {
        var what: String
        var line: String
    }

    private(set) var families: [String: Family] = [:]
    private let format: MetricsFormat
    private var current: String?

    init(_ text: String, _ format: MetricsFormat) throws {
        self.format = format
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map {
            String(String.UnicodeScalarView($0))
        }
        guard lines.last == "" else { throw Mistake(what: "the last line has no end", line: lines.last ?? "") }
        var body = lines.dropLast()
        if format == .openMetrics {
            guard body.last == "# EOF" else { throw Mistake(what: "there is no # EOF", line: body.last ?? "") }
            body = body.dropLast()
        }
        for line in body { try read(line) }
        for (name, family) in families { try check(name, family) }
    }

    private mutating func read(_ line: String) throws {
        guard line.hasPrefix("#") else { return try readSample(line) }
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard words.count >= 3, words[0] == "#", ["HELP", "TYPE", "UNIT"].contains(words[1]) else {
            throw Mistake(what: "this is no metadata", line: line)
        }
        let (name, rest) = (words[2], words.count > 3 ? words[3] : "")
        try enter(name, line)
        guard families[name]?.samples.isEmpty != false else { throw Mistake(what: "metadata after samples", line: line) }
        switch words[1] {
        case "TYPE":
            let types =
                format == .openMetrics
                ? ["counter", "gauge", "histogram", "gaugehistogram", "stateset", "info", "summary", "unknown"]
                : ["counter", "gauge", "histogram", "summary", "untyped"]
            guard families[name]?.type == nil, types.contains(rest) else { throw Mistake(what: "type", line: line) }
            families[name]?.type = rest
        case "UNIT":
            guard format == .openMetrics, name.hasSuffix("_" + rest) else { throw Mistake(what: "unit", line: line) }
            families[name]?.unit = rest
        default:
            guard families[name]?.help == nil else { throw Mistake(what: "two helps", line: line) }
            var scalars = Array(rest.unicodeScalars)[...]
            let help = try unescape(&scalars, until: nil, line, quotes: format == .openMetrics)
            families[name]?.help = help
        }
    }

    /// A family is in one piece.
    private mutating func enter(_ name: String, _ line: String) throws {
        if name == current { return }
        guard families[name] == nil else { throw Mistake(what: "the family is in two pieces", line: line) }
        families[name] = Family()
        current = name
    }

    private mutating func readSample(_ line: String) throws {
        var rest = Array(line.unicodeScalars)[...]
        let name = try Self.name(&rest, line, colons: true)
        let labels = rest.first == "{" ? try readLabels(&rest, line) : [:]
        guard rest.popFirst() == " " else { throw Mistake(what: "no space before the value", line: line) }
        let value = try Self.number(&rest, line)
        var exemplar: Exemplar?
        if !rest.isEmpty {
            guard format == .openMetrics, rest.starts(with: " # ".unicodeScalars) else {
                throw Mistake(what: "something follows the value", line: line)
            }
            rest = rest.dropFirst(3)
            let labels = try readLabels(&rest, line)
            guard rest.popFirst() == " " else { throw Mistake(what: "exemplar", line: line) }
            exemplar = Exemplar(labels: labels, value: try Self.number(&rest, line))
            if rest.popFirst() == " " { exemplar?.time = try Self.number(&rest, line) }
            let size = labels.reduce(0) { $0 + $1.key.count + $1.value.count }
            guard rest.isEmpty, size <= 128, name.hasSuffix("_bucket") || name.hasSuffix("_total") else {
                throw Mistake(what: "exemplar", line: line)
            }
        }
        guard let family = current, Self.family(of: name, families[family]?.type, format) == family else {
            throw Mistake(what: "the sample belongs to no family", line: line)
        }
        let sample = Sample(name: name, labels: labels, value: value, exemplar: exemplar)
        let isDouble = families[family]?.samples.contains { $0.name == name && $0.labels == labels } ?? false
        guard !isDouble else { throw Mistake(what: "the same sample twice", line: line) }
        families[family]?.samples.append(sample)
    }

    private static func family(of sample: String, _ type: String?, _ format: MetricsFormat) -> String {
        let suffixes: [String] =
            switch type {
            case "histogram": ["_bucket", "_count", "_sum"]
            case "counter" where format == .openMetrics: ["_total"]
            case "info": ["_info"]
            default: []
            }
        for suffix in suffixes where sample.hasSuffix(suffix) { return String(sample.dropLast(suffix.count)) }
        return suffixes.isEmpty ? sample : ""
    }

    private func check(_ name: String, _ family: Family) throws {
        guard let type = family.type, !family.samples.isEmpty else {
            throw Mistake(what: "a family without type or samples", line: name)
        }
        for sample in family.samples {
            if type == "counter", !(sample.value >= 0) { throw Mistake(what: "a negative counter", line: name) }
            if type == "info", sample.value != 1 { throw Mistake(what: "an info that is not 1", line: name) }
        }
        guard type == "histogram" else { return }
        for (labels, all) in Dictionary(grouping: family.samples, by: { $0.labels.filter { $0.key != "le" } }) {
            let buckets = all.filter { $0.name == name + "_bucket" }
            let bounds = buckets.compactMap { $0.labels["le"] }.compactMap { $0 == "+Inf" ? Double.infinity : Double($0) }
            let counts = buckets.map(\.value)
            guard bounds.count == buckets.count, bounds == bounds.sorted(), bounds.last == .infinity, counts == counts.sorted(),
                all.first(where: { $0.name == name + "_count" })?.value == counts.last,
                all.contains(where: { $0.name == name + "_sum" })
            else { throw Mistake(what: "buckets", line: "\(name) \(labels)") }
            for bucket in buckets {
                guard let exemplar = bucket.exemplar else { continue }
                guard exemplar.value <= Double(bucket.labels["le"] ?? "") ?? .infinity else {
                    throw Mistake(what: "an exemplar outside of its bucket", line: name)
                }
            }
        }
    }

    private func readLabels(_ rest: inout ArraySlice<Unicode.Scalar>, _ line: String) throws -> [String: String] {
        rest.removeFirst()
        var labels: [String: String] = [:]
        while rest.first != "}" {
            if !labels.isEmpty { guard rest.popFirst() == "," else { throw Mistake(what: "no comma", line: line) } }
            let name = try Self.name(&rest, line, colons: false)
            guard rest.popFirst() == "=", rest.popFirst() == "\"" else { throw Mistake(what: "no value", line: line) }
            let value = try unescape(&rest, until: "\"", line, quotes: true)
            guard labels.updateValue(value, forKey: name) == nil else { throw Mistake(what: "a label twice", line: line) }
        }
        rest.removeFirst()
        return labels
    }

    private func unescape(
        _ rest: inout ArraySlice<Unicode.Scalar>, until end: Unicode.Scalar?, _ line: String, quotes: Bool
    ) throws -> String {
        var text = String.UnicodeScalarView()
        while true {
            guard let next = rest.popFirst() else {
                if end == nil { return String(text) }
                throw Mistake(what: "a text without end", line: line)
            }
            if next == end { return String(text) }
            guard next == "\\" else {
                if end == nil, quotes, next == "\"" { throw Mistake(what: "a bare quote", line: line) }
                text.append(next)
                continue
            }
            switch rest.popFirst() {
            case "\\": text.append("\\")
            case "n": text.append("\n")
            case "\"" where quotes: text.append("\"")
            default: throw Mistake(what: "an unknown escape", line: line)
            }
        }
    }

    private static func name(_ rest: inout ArraySlice<Unicode.Scalar>, _ line: String, colons: Bool) throws -> String {
        let name = rest.prefix {
            $0.properties.isAlphabetic && $0.isASCII || ("0"..."9").contains($0) || $0 == "_" || colons && $0 == ":"
        }
        guard let first = name.first, !("0"..."9").contains(first) else { throw Mistake(what: "no name", line: line) }
        rest = rest[name.endIndex...]
        return String(String.UnicodeScalarView(name))
    }

    private static func number(_ rest: inout ArraySlice<Unicode.Scalar>, _ line: String) throws -> Double {
        let text = rest.prefix { $0 != " " }
        rest = rest[text.endIndex...]
        switch String(String.UnicodeScalarView(text)) {
        case "+Inf": return .infinity
        case "-Inf": return -.infinity
        case "NaN": return .nan
        case let text:
            guard let number = Double(text), text.allSatisfy({ "0123456789.eE+-".contains($0) }) else {
                throw Mistake(what: "no number", line: line)
            }
            return number
        }
    }
}
