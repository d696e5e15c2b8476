public import BellhopCore

/// All metrics at one moment.
public struct MetricsSnapshot: Sendable, Hashable {
    /// When counting began.
    public var started: Timestamp
    public var at: Timestamp
    /// The metrics that have values, in the order of their names.
    public var families: [Family]

    public init(started: Timestamp, at: Timestamp, families: [Family]) {
        self.started = started
        self.at = at
        self.families = families.filter { !$0.series.isEmpty }.sorted { $0.instrument.name < $1.instrument.name }
    }

    /// One value of an instrument that is read at each request.
    public struct Sample: Sendable, Hashable {
        public var instrument: Instrument
        /// The values of the instrument's labels, in their order.
        public var labels: [String]
        public var value: Double

        public init(_ instrument: Instrument, _ labels: String..., value: Double) {
            precondition(labels.count == instrument.labels.count, "\(instrument.name) has \(instrument.labels.count) labels")
            self.instrument = instrument
            self.labels = labels
            self.value = value
        }
    }

    public struct Family: Sendable, Hashable {
        public var instrument: Instrument
        public var series: [Series]

        init(_ instrument: Instrument, _ series: [Series]) { (self.instrument, self.series) = (instrument, series) }

        /// Combines the samples that have the same labels, and those beyond the limit of series.
        init(_ instrument: Instrument, _ samples: [Sample], most: Int) {
            var values: [[String]: Double] = [:]
            for sample in samples {
                let known = instrument.declared(sample.labels)
                let labels = values[known] != nil || values.count < most ? known : instrument.merged(known)
                let old = values[labels]
                switch instrument.combining {
                case .sum: values[labels] = (old ?? 0) + sample.value
                case .greatest: values[labels] = max(old ?? sample.value, sample.value)
                }
            }
            self.instrument = instrument
            series = values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Series($0.key, .number($0.value)) }
        }
    }

    public struct Series: Sendable, Hashable {
        /// The values of the instrument's labels, in their order.
        public var labels: [String]
        public var value: Value

        init(_ labels: [String], _ value: Value) { (self.labels, self.value) = (labels, value) }
    }

    public enum Value: Sendable, Hashable {
        case count(Int64)
        case number(Double)
        case histogram(Histogram)
    }

    public struct Histogram: Sendable, Hashable {
        /// The count of each bucket, not cumulative. The last bucket is for values beyond all bounds.
        public var counts: [Int64]
        public var sum: Double
        /// The latest value of each bucket that belongs to a trace.
        public var exemplars: [Int: Exemplar]
    }
}
