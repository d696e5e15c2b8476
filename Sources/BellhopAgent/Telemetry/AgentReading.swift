import BellhopCore
import BellhopTelemetry

/// The state of a running agent at one moment. Its health, and the metrics that are not counters, are computed from it.
struct AgentReading: Sendable {
    var now: Timestamp
    var started: Timestamp
    /// Nil if the store cannot be read.
    var status: StoreStatus?
    /// Whether the store accepted no change when it was last tried.
    var storeRefusesChanges = false
    /// The sources that are polled.
    var sources: [String] = []
    /// The sources that other systems send requests to.
    var senders: [String] = []
    /// The latest successful poll of each source since the start.
    var polled: [String: Timestamp] = [:]
    /// The connections, which may be receivers.
    var connections: [String] = []
    /// The names of the rules in force; nil before any are.
    var rules: [String]?
    var actions: Set<String> = []
    /// The number of errors in the changed rules, because of which they are not in force.
    var refusedRules = 0
    var inFlight = 0
    /// The loops that have made no progress for too long.
    var hangingLoops: [String] = []

    var healthFacts: HealthFacts {
        var facts = HealthFacts()
        facts.hangingLoops = hangingLoops
        facts.storeFails = status == nil || storeRefusesChanges
        facts.hasRules = rules != nil
        facts.refusedRules = refusedRules
        facts.sources = sources.map { name in
            let health = known(name)?.health
            return HealthFacts.Source(
                name: name, wasPolled: polled[name] != nil || health?.held != nil, failures: health?.failures ?? 0)
        }
        facts.pausedReceivers = lastingStops.filter { $0.stop.cause.isPause && connections.contains($0.stop.receiver) }
            .map(\.stop.receiver)
        facts.pausedRules = pausedRules.map(\.name)
        return facts
    }

    var samples: [MetricsSnapshot.Sample] {
        var samples: [MetricsSnapshot.Sample] = [
            .init(.build, BellhopVersion.text, value: 1), .init(.startTime, value: Double(started.microseconds) / 1e6),
            .init(.ready, value: Health(healthFacts).isReady ? 1 : 0), .init(.storeUp, value: status == nil ? 0 : 1),
            .init(.deliveriesInFlight, value: Double(inFlight)), .init(.rules, value: Double(rules?.count ?? 0)),
            .init(.rulesRefused, value: Double(refusedRules)),
        ]
        for source in sources {
            let health = known(source)?.health
            // A poll before the start counts too, so that the age does not jump when the agent is restarted. If the clock was set back
            // since that poll, its age is unknown.
            let last = polled[source] ?? health?.lastSuccess.flatMap { $0 <= now ? $0 : nil }
            samples.append(.init(.sourcePollAge, source, value: max((now - (last ?? started)).seconds, 0)))
            if status != nil { samples.append(.init(.sourceFailures, source, value: Double(health?.failures ?? 0))) }
        }
        if let status { samples += self.samples(of: status) }
        return samples
    }

    private func samples(of status: StoreStatus) -> [MetricsSnapshot.Sample] {
        var samples: [MetricsSnapshot.Sample] = [
            .init(.storeEvents, value: Double(status.events)), .init(.storeEventsUnrouted, value: Double(status.unrouted)),
            .init(.silences, value: Double(status.silences.count { $0.silence.isActive(at: now) })),
        ]
        samples += DeliveryState.allCases.map {
            .init(.storeDeliveries, $0.rawValue, value: Double(status.deliveries[$0] ?? 0))
        }
        samples += status.sources.filter { sources.contains($0.source) }.map {
            .init(.sourceTasks, $0.source, value: Double($0.tasks))
        }
        samples += status.waits.map { .init(.ruleWaits, $0.rule, $0.part.rawValue, value: Double($0.count)) }
        samples += pausedRules.map { .init(.rulePaused, $0.name, $0.isByPerson ? "person" : "bellhop", value: 1) }
        let backlog = Dictionary(uniqueKeysWithValues: status.backlog.map { ($0.receiver, $0) })
        for connection in connections {
            let waiting = backlog[connection]
            let stops = status.stops.map(\.stop).filter { $0.receiver == connection }
            var causes = Set(stops.filter { $0.lasts(at: now) }.map(\.cause.rawValue))
            // The stop of a circuit breaker ends with each trial, but the receiver has not answered yet.
            if causes.isEmpty, waiting != nil, stops.contains(where: \.isUnclosedBreaker) {
                causes.insert(ReceiverStop.Cause.failures.rawValue)
            }
            if waiting?.isUnusable ?? false { causes.insert(Instrument.unusable) }
            samples += Instrument.stopCauses.map { cause in
                .init(.receiverStopped, connection, cause, value: causes.contains(cause) ? 1 : 0)
            }
            samples.append(.init(.receiverDeliveryAge, connection, value: waiting.map(age) ?? 0))
        }
        samples += status.backlog.filter { !connections.contains($0.receiver) }.map {
            .init(.receiverDeliveryAge, Instrument.other, value: age($0))
        }
        samples += lastingStops.map { stop in
            // The other receivers are addresses that a rule may have computed.
            let isNamed = connections.contains(stop.stop.receiver)
            return .init(.receiverWaiting, isNamed ? stop.stop.receiver : Instrument.other, value: Double(stop.waiting))
        }
        return samples
    }

    private func age(_ backlog: StoreStatus.BacklogStatus) -> Double { max((now - backlog.since).seconds, 0) }

    /// The rules in force that see no events.
    private var pausedRules: [(name: String, isByPerson: Bool)] {
        (status?.pauses ?? []).compactMap { pause in
            guard case .rule(let name) = pause.subject, rules?.contains(name) ?? false else { return nil }
            return (name: name, isByPerson: pause.isByPerson)
        }
    }

    private var lastingStops: [StoreStatus.StopStatus] { status?.stopped(at: now) ?? [] }

    private func known(_ source: String) -> StoreStatus.SourceStatus? { status?.sources.first { $0.source == source } }
}
