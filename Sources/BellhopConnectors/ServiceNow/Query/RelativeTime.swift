import BellhopCore

/// A time counted from now by the server, in the time zone of the connection's user.
struct RelativeTime: Sendable, Hashable {
    enum Unit: String, Sendable, CaseIterable { case minutes, hours, days, months, quarters, years }

    /// The moment of the unit.
    enum Boundary: String, Sendable, CaseIterable {
        case start, end
        /// Exactly this many units before now.
        case now
    }

    var unit: Unit
    /// Negative for the future.
    var ago: Int
    var boundary: Boundary

    static let words = ["yesterday": 1, "today": 0, "tomorrow": -1]

    /// The script that computes it, as a value of an encoded query.
    var script: String {
        let suffix =
            switch (unit, boundary) {
            // The server has no function for the start or end of a year.
            case (.years, _), (_, .now): ""
            case (_, .start): "Start"
            case (_, .end): "End"
            }
        return "javascript:gs.\(unit.rawValue)Ago\(suffix)(\(ago))"
    }

    /// The label before the two moments of `ON`; the server displays it and evaluates the moments.
    var label: String {
        let one = String(unit.rawValue.dropLast())
        switch (unit, ago) {
        case (.days, 0): return "Today"
        case (.days, 1): return "Yesterday"
        case (.days, -1): return "Tomorrow"
        case (_, 0): return "This \(one)"
        case (_, 1): return "Last \(one)"
        case (_, -1): return "Next \(one)"
        case (_, 2...): return "\(ago) \(unit.rawValue) ago"
        case (_, _): return "In \(-ago) \(unit.rawValue)"
        }
    }

    /// `days_ago`, `hours_ahead`, …
    static let keys: [String] = Unit.allCases.flatMap { ["\($0.rawValue)_ago", "\($0.rawValue)_ahead"] }
}

extension RelativeTime {
    /// - Parameter key: one of ``keys``.
    init?(_ key: String, _ count: Int64, boundary: Boundary) {
        let parts = key.split(separator: "_")
        guard parts.count == 2, let unit = Unit(rawValue: String(parts[0])), (0...100_000).contains(count) else { return nil }
        self.init(unit: unit, ago: parts[1] == "ago" ? Int(count) : -Int(count), boundary: boundary)
    }
}
