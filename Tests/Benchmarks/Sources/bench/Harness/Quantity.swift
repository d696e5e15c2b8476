/// A measured figure with its unit.
enum Quantity: Sendable, Hashable {
    /// A rate per second, of `events` for example.
    case rate(Double, of: String)
    /// Bytes per second.
    case throughput(Double)
    /// Seconds.
    case time(Double)
    /// Bytes of memory, in total or per `task` for example.
    case memory(Double, per: String?)
    /// A ratio.
    case factor(Double)
    /// A count, of `allocations` for example.
    case count(Double, of: String)

    var value: Double {
        switch self {
        case .rate(let value, _), .throughput(let value), .time(let value), .memory(let value, _), .factor(let value),
            .count(let value, _):
            value
        }
    }

    /// The unit of ``value`` in the JSON report.
    var unit: String {
        switch self {
        case .rate(_, let things): "\(things)/s"
        case .throughput: "B/s"
        case .time: "s"
        case .memory(_, let thing): thing.map { "B/\($0)" } ?? "B"
        case .factor: "times"
        case .count(_, let things): things
        }
    }

    /// The same kind of figure with another value.
    func with(_ value: Double) -> Quantity {
        switch self {
        case .rate(_, let things): .rate(value, of: things)
        case .throughput: .throughput(value)
        case .time: .time(value)
        case .memory(_, let thing): .memory(value, per: thing)
        case .factor: .factor(value)
        case .count(_, let things): .count(value, of: things)
        }
    }
}

extension Quantity: CustomStringConvertible {
    var description: String {
        switch self {
        case .rate(let value, let things): "\(Self.grouped(value)) \(things)/s"
        case .throughput(let value): value >= 1e9 ? "\(Self.figures(value / 1e9)) GB/s" : "\(Self.figures(value / 1e6)) MB/s"
        case .time(let value):
            value >= 1
                ? "\(Self.figures(value)) s"
                : value >= 1e-4 || value == 0 ? "\(Self.figures(value * 1e3)) ms" : "\(Self.figures(value * 1e6)) µs"
        case .memory(let value, let thing):
            if let thing { "\(Self.figures(value)) B/\(thing)" } else { "\(Self.figures(value / 1e6)) MB" }
        case .factor(let value): "\(Self.figures(value)) ×"
        case .count(let value, let things): "\(Self.grouped(value)) \(things)"
        }
    }

    /// Three significant figures, or all digits before the point.
    static func figures(_ value: Double) -> String {
        let magnitude = abs(value)
        let places = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 0.1 ? 2 : 3
        return fixed(value, places)
    }

    static func fixed(_ value: Double, _ places: Int) -> String {
        guard value.isFinite else { return "\(value)" }
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let digits = String(Int((abs(value) * scale).rounded()))
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        let text = places == 0 ? padded : "\(padded.dropLast(places)).\(padded.suffix(places))"
        return value < 0 ? "-" + text : text
    }

    /// A whole number with thousands separators.
    static func grouped(_ value: Double) -> String {
        var digits = fixed(value, 0)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }
}
