import BellhopCore
public import BellhopInbound
public import BellhopTelemetry
import Synchronization

/// The metrics and the health of a running agent, for the tools of operators. They come from the same sources as `bellhop status`.
///
/// A class over a mutex, because all requests share the latest reading.
public final class AgentTelemetry: Sendable {
    /// The metrics that are counted.
    public let registry: MetricsRegistry
    /// The address at which they are served without a login; nil if there is none.
    public let place: InboundServer.Address?
    private let clock: any AgentClock
    private let read: @Sendable () async -> AgentReading
    private let latest = Mutex<AgentReading?>(nil)

    /// How long a reading is used for all requests, because each reading queries the store.
    private static let fresh = Duration.seconds(2)

    init(
        _ registry: MetricsRegistry, at place: InboundServer.Address? = nil, clock: any AgentClock,
        read: @escaping @Sendable () async -> AgentReading
    ) {
        (self.place, self.registry, self.clock, self.read) = (place, registry, clock, read)
    }

    /// Whether the agent lives and is ready, with the reasons.
    public func health() async -> Health { Health(await reading().healthFacts) }

    /// All metrics at this moment.
    public func metrics() async -> MetricsSnapshot {
        let reading = await self.reading()
        for rule in reading.rules ?? [] {
            registry.addZeros(of: .ruleErrors, for: rule)
            registry.addZeros(of: .ruleKeysDropped, for: rule)
        }
        for action in reading.actions { registry.addZeros(of: .deliveries, for: action) }
        for source in reading.senders { registry.addZeros(of: .inboundRefused, for: source) }
        for source in reading.sources { registry.addZeros(of: .pollEvents, for: source) }
        return registry.snapshot(with: reading.samples + ProcessFacts.now.samples)
    }

    public func text(_ format: MetricsFormat) async -> String { await metrics().text(format) }

    private func reading() async -> AgentReading {
        let now = clock.now
        if let latest = latest.withLock({ $0 }), latest.now <= now, now - latest.now < Self.fresh { return latest }
        let reading = await read()
        latest.withLock { $0 = reading }
        return reading
    }
}
