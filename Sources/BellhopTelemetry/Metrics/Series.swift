public import BellhopCore
import Metrics
import Synchronization

/// The values of one instrument under one set of label values. Written by any number of threads.
///
/// A class, because the code that counts holds a reference to it.
final class Series: Sendable {
    let labels: [String]
    let value: Value

    enum Value: Sendable {
        case counter(CounterCell)
        case gauge(GaugeCell)
        case histogram(HistogramCell)
    }

    init(_ labels: [String], of instrument: Instrument, clock: any AgentClock) {
        self.labels = labels
        value =
            switch instrument.kind {
            case .counter: .counter(CounterCell())
            case .gauge, .info: .gauge(GaugeCell())
            case .histogram(let bounds): .histogram(HistogramCell(bounds, clock: clock))
            }
    }
}

/// A class, as its protocol requires.
final class CounterCell: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    /// Ignores negative amounts: a counter only grows.
    func increment(by amount: Int64) {
        if amount > 0 { count.wrappingAdd(amount, ordering: .relaxed) }
    }

    func reset() { count.store(0, ordering: .relaxed) }
}

/// A class, as its protocols require.
final class GaugeCell: MeterHandler, RecorderHandler {
    private let number = Mutex(0.0)

    var value: Double { number.withLock { $0 } }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.withLock { $0 = value } }
    func increment(by amount: Double) { number.withLock { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
}

/// A class, as its protocols require.
final class HistogramCell: TimerHandler, RecorderHandler {
    private let bounds: [Double]
    private let clock: any AgentClock
    private let histogram: Mutex<MetricsSnapshot.Histogram>

    init(_ bounds: [Double], clock: any AgentClock) {
        self.bounds = bounds
        self.clock = clock
        histogram = Mutex(MetricsSnapshot.Histogram(counts: Array(repeating: 0, count: bounds.count + 1), sum: 0, exemplars: [:]))
    }

    var value: MetricsSnapshot.Histogram { histogram.withLock { $0 } }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        let exemplar = TraceContext.current.flatMap { context in
            context.isSampled ? Exemplar(trace: context.trace, span: context.span, value: value, time: clock.now) : nil
        }
        histogram.withLock { histogram in
            histogram.counts[bucket] += 1
            histogram.sum += value
            if let exemplar { histogram.exemplars[bucket] = exemplar }
        }
    }
}

/// One value of a histogram, with the trace that it belongs to.
public struct Exemplar: Sendable, Hashable {
    public var trace: TraceID
    public var span: SpanID
    public var value: Double
    public var time: Timestamp

    public init(trace: TraceID, span: SpanID, value: Double, time: Timestamp) {
        (self.trace, self.span, self.value, self.time) = (trace, span, value, time)
    }
}
