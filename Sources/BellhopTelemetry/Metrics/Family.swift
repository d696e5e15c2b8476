import BellhopCore
import Synchronization

/// The series of one instrument.
///
/// A class with a mutex, because all threads that count share it.
final class Family: Sendable {
    let instrument: Instrument
    private let most: Int
    private let clock: any AgentClock
    /// By the values of their labels.
    private let known = Mutex<[[String]: Series]>([:])

    /// - Parameter most: the most series; further names become ``Instrument/other``.
    init(_ instrument: Instrument, most: Int, clock: any AgentClock) {
        self.instrument = instrument
        self.most = most
        self.clock = clock
        // Begin with zeros: a reader notices the first increase of a counter only if it has read a zero before.
        if !instrument.hasNames { for values in instrument.combinations() { _ = series(values) } }
    }

    /// The series with these dimensions, given in any order; nil if the instrument has others.
    func series(_ dimensions: [(String, String)]) -> Series? {
        guard dimensions.count == instrument.labels.count else { return nil }
        var values: [String] = []
        for label in instrument.labels {
            guard let dimension = dimensions.first(where: { $0.0 == label.name }) else { return nil }
            values.append(dimension.1)
        }
        return series(values)
    }

    /// Adds series with the value 0 for a name, one for each combination of the other labels' values. Stops when half of the allowed
    /// series exist, so that counted names can be added later.
    func addZeros(for name: String) {
        if known.withLock(\.count) >= most / 2 { return }
        for values in instrument.combinations(for: name) { _ = series(values) }
    }

    /// All series, sorted by their labels.
    var all: [Series] { known.withLock { Array($0.values) }.sorted { $0.labels.lexicographicallyPrecedes($1.labels) } }

    private func series(_ values: [String]) -> Series {
        let declared = instrument.declared(values)
        return known.withLock { known in
            if let series = known[declared] { return series }
            // Without names there are few combinations of label values, so these series need no limit.
            let values = known.count < most ? declared : instrument.merged(declared)
            if let series = known[values] { return series }
            let new = Series(values, of: instrument, clock: clock)
            known[values] = new
            return new
        }
    }
}

extension Instrument {
    /// The longest value of a label, in bytes.
    private static let longestValue = 200

    var hasNames: Bool { labels.contains { $0.values == nil } }

    /// The label values, with undeclared ones replaced by ``other`` and long names shortened.
    func declared(_ values: [String]) -> [String] {
        zip(labels, values).map { label, value in
            if let declared = label.values { return declared.contains(value) ? value : Self.other }
            return value.utf8.count > Self.longestValue ? String(value.prefix(Self.longestValue / 4)) : value
        }
    }

    /// The label values, with names replaced by ``other``.
    func merged(_ values: [String]) -> [String] { zip(labels, values).map { $0.values == nil ? Self.other : $1 } }

    /// Every combination of the values that the labels declare.
    ///
    /// - Parameter name: the value of labels that take names.
    func combinations(for name: String? = nil) -> [[String]] {
        labels.reduce([[]]) { combinations, label in
            combinations.flatMap { values in (label.values ?? name.map { [$0] } ?? []).map { values + [$0] } }
        }
    }
}
