public import BellhopCore
public import Metrics

/// Keeps the metrics that the agent counts through swift-metrics, and returns all metrics as values or text.
///
/// Discards metrics that ``Instrument/counted`` does not declare, so that its size is limited. A class, as its protocol requires.
public final class MetricsRegistry: MetricsFactory {
    /// The most series of an instrument, by default.
    public static let maxSeries = 500

    private let families: [String: Family]
    private let most: Int
    private let clock: any AgentClock
    private let started: Timestamp

    /// - Parameters:
    ///   - instruments: the instruments that are counted.
    ///   - most: the most series of an instrument: further names become ``Instrument/other``.
    public init(_ instruments: [Instrument] = Instrument.counted, most: Int = maxSeries, clock: any AgentClock) {
        self.most = most
        self.clock = clock
        started = clock.now
        families = Dictionary(uniqueKeysWithValues: instruments.map { ($0.name, Family($0, most: most, clock: clock)) })
    }

    /// Adds series with the value 0 for a name before the first count: a reader notices the first increase of a counter only if it has
    /// read a zero before.
    public func addZeros(of instrument: Instrument, for name: String) { families[instrument.name]?.addZeros(for: name) }

    /// All metrics at this moment.
    /// - Parameter observed: the values of the instruments that are not counted.
    public func snapshot(with observed: [MetricsSnapshot.Sample] = []) -> MetricsSnapshot {
        let counted = families.values.map { family in
            MetricsSnapshot.Family(family.instrument, family.all.map { MetricsSnapshot.Series($0.labels, $0.snapshot) })
        }
        let observed = Dictionary(grouping: observed, by: \.instrument).map { instrument, samples in
            MetricsSnapshot.Family(instrument, samples, most: most)
        }
        return MetricsSnapshot(started: started, at: clock.now, families: counted + observed)
    }

    // MARK: For swift-metrics

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        if case .counter(let cell)? = families[label]?.series(dimensions)?.value { return cell }
        return NOOPMetricsHandler.instance
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        if case .gauge(let cell)? = families[label]?.series(dimensions)?.value { return cell }
        return NOOPMetricsHandler.instance
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        switch families[label]?.series(dimensions)?.value {
        case .gauge(let cell): cell
        case .histogram(let cell): cell
        case .counter, nil: NOOPMetricsHandler.instance
        }
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        if case .histogram(let cell)? = families[label]?.series(dimensions)?.value { return cell }
        return NOOPMetricsHandler.instance
    }

    // Series are never removed, because their counts stay valid.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
}

extension Series {
    fileprivate var snapshot: MetricsSnapshot.Value {
        switch value {
        case .counter(let cell): .count(cell.value)
        case .gauge(let cell): .number(cell.value)
        case .histogram(let cell): .histogram(cell.value)
        }
    }
}
