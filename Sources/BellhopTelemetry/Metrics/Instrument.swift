public import Metrics

/// The declaration of a metric. The registry, the text formats, the documentation, the dashboard and the alerts take its name, unit and
/// labels from here.
public struct Instrument: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Only grows, and begins at zero with the process.
        case counter
        case gauge
        /// Always 1; its labels describe the program, such as its version.
        case info
        /// Counts values in buckets with these upper bounds, in ascending order, and one more bucket for greater values.
        case histogram([Double])

        /// As documentation and text formats call it.
        public var name: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .info: "info"
            case .histogram: "histogram"
            }
        }
    }

    public enum Unit: String, Sendable, Hashable {
        case seconds, bytes
    }

    public struct Label: Sendable, Hashable {
        public var name: String
        /// All values of the label. Nil if the values are names from the configuration or the rules: an instrument keeps a limited number
        /// of them.
        public var values: [String]?

        public init(_ name: String, _ values: [String]? = nil) { (self.name, self.values) = (name, values) }
    }

    /// How the values of series are combined when their label values are replaced by ``other``.
    public enum Combining: Sendable, Hashable {
        case sum, greatest
    }

    /// The whole name. It ends in the unit, for a counter in `_total`, for an info in `_info`.
    public var name: String
    public var kind: Kind
    public var unit: Unit?
    public var labels: [Label]
    public var combining: Combining
    /// One sentence about the values of the metric.
    public var help: String

    /// Replaces label values that are beyond the limit or not declared.
    public static let other = "other"

    public init(
        _ name: String, _ kind: Kind, unit: Unit? = nil, labels: [Label] = [], combining: Combining = .sum, _ help: String
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.labels = labels
        self.combining = combining
        self.help = help
    }

    /// The name without the suffix that its kind requires.
    public var family: String {
        switch kind {
        case .counter: name.removing("_total")
        case .info: name.removing("_info")
        case .gauge, .histogram: name
        }
    }

    /// The names of its samples in the text formats.
    public var sampleNames: [String] {
        if case .histogram = kind { [name + "_bucket", name + "_count", name + "_sum"] } else { [name] }
    }
}

extension Instrument {
    /// - Parameter values: the values of the labels, in their order.
    public func counter(_ values: String..., in factory: any MetricsFactory) -> Counter {
        Counter(label: name, dimensions: dimensions(values), factory: factory)
    }

    /// - Parameter values: the values of the labels, in their order.
    public func timer(_ values: String..., in factory: any MetricsFactory) -> Timer {
        Timer(label: name, dimensions: dimensions(values), factory: factory)
    }

    private func dimensions(_ values: [String]) -> [(String, String)] {
        precondition(values.count == labels.count, "\(name) has \(labels.count) labels")
        return zip(labels, values).map { ($0.name, $1) }
    }
}

extension String {
    fileprivate func removing(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
