import BellhopCore

/// All metrics. Their names and meanings never change; new metrics may be added.
extension Instrument {
    /// All instruments, in the order of their names.
    public static let all = (counted + observed).sorted { $0.name < $1.name }

    /// The instruments that are counted while the agent works.
    public static let counted = [
        polls, pollEvents, pollSeconds, inboundRefused, eventsRouted, eventsDropped, routeSeconds, deliveriesMade, deliveries,
        deliverySeconds, deliveriesReleased, deliveriesCoalesced, breaker, receiverPauses, ruleErrors, ruleKeysDropped,
        storeErrors,
        spans, exports,
    ]

    /// The instruments whose values are read at each request.
    public static let observed = [
        build, startTime, ready, storeUp, storeEvents, storeEventsUnrouted, storeDeliveries, deliveriesInFlight, sourcePollAge,
        sourceFailures, sourceTasks, receiverStopped, receiverWaiting, receiverDeliveryAge, rulePaused, ruleWaits, rules,
        rulesRefused, silences, residentMemory, processorSeconds, openFiles,
    ]

    private static let source = Label("source")
    private static let rule = Label("rule")
    private static let action = Label("action")
    private static let receiver = Label("receiver")

    // MARK: Polling

    public static let polls = Instrument(
        "bellhop_polls_total", .counter,
        labels: [source, Label("result", ["changed", "unchanged", "held"] + Failure.Reason.allCases.map(\.rawValue))],
        "Polls of sources, by their result: changed, unchanged, held, or why they failed.")
    public static let pollEvents = Instrument(
        "bellhop_poll_events_total", .counter, labels: [source], "Events that polls found.")
    public static let pollSeconds = Instrument(
        "bellhop_poll_seconds", .histogram([0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]), unit: .seconds, labels: [source],
        "The time that a poll took until its result was stored.")
    public static let sourcePollAge = Instrument(
        "bellhop_source_poll_age_seconds", .gauge, unit: .seconds, labels: [source], combining: .greatest,
        "The time since the last successful poll of a source, or since the agent's start if there was none.")
    public static let sourceFailures = Instrument(
        "bellhop_source_failures", .gauge, labels: [source], combining: .greatest, "Failed polls of a source in a row.")
    public static let sourceTasks = Instrument("bellhop_source_tasks", .gauge, labels: [source], "The tasks that a source shows.")

    public static let inboundRefused = Instrument(
        "bellhop_inbound_refused_total", .counter,
        labels: [source, Label("status", ["400", "401", "405", "408", "413", "415", "429", "503"])],
        "Requests from other systems that were refused, by the status of the answer.")

    // MARK: Events and rules

    public static let eventsRouted = Instrument("bellhop_events_routed_total", .counter, "Events that went through the rules.")
    public static let eventsDropped = Instrument(
        "bellhop_events_dropped_total", .counter, "Events that the store did not accept, and that are lost.")
    public static let routeSeconds = Instrument(
        "bellhop_route_seconds", .histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
        unit: .seconds,
        "The time that a batch of events, timers or replays took through the rules until its deliveries were stored.")
    public static let ruleErrors = Instrument(
        "bellhop_rule_errors_total", .counter, labels: [rule], "Events for which a part of a rule failed.")
    public static let ruleKeysDropped = Instrument(
        "bellhop_rule_keys_dropped_total", .counter, labels: [rule],
        "Keys that a rule forgot because it had more than it may remember.")
    public static let rulePaused = Instrument(
        "bellhop_rule_paused", .gauge, labels: [rule, Label("by", ["bellhop", "person"])],
        "1 while a rule is paused, and sees no events; without a sample it is not paused.")
    public static let ruleWaits = Instrument(
        "bellhop_rule_waits", .gauge, labels: [rule, Label("part", StoreStatus.WaitStatus.Part.allCases.map(\.rawValue))],
        "How many things the parts of a rule wait for: timers of `for` and `none`, counts, groups, events of `on`, escalations.")
    public static let rules = Instrument("bellhop_rules", .gauge, "The rules in force.")
    public static let rulesRefused = Instrument(
        "bellhop_rules_refused", .gauge, "Mistakes in the rule files, because of which the previous rules stay in force.")
    public static let silences = Instrument("bellhop_silences", .gauge, "The silences that keep messages back now.")

    // MARK: Deliveries

    public static let deliveriesMade = Instrument(
        "bellhop_deliveries_made_total", .counter, "Deliveries that rules made.")
    public static let deliveries = Instrument(
        "bellhop_deliveries_total", .counter,
        labels: [
            action,
            Label(
                "result", ["done", "retried", "postponed", "dead", "held", "paused", "silenced", "quiet", "dropped"]),
        ], "Attempts and decisions about deliveries, by their result.")
    public static let deliverySeconds = Instrument(
        "bellhop_delivery_seconds", .histogram([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 240]), unit: .seconds,
        labels: [action], "The time that a successful attempt took at the receiver.")
    public static let deliveriesReleased = Instrument(
        "bellhop_deliveries_released_total", .counter, "Messages that were sent at the end of a quiet time.")
    public static let deliveriesCoalesced = Instrument(
        "bellhop_deliveries_coalesced_total", .counter, "Waiting messages that were sent as one.")
    public static let deliveriesInFlight = Instrument("bellhop_deliveries_in_flight", .gauge, "Attempts that are in progress.")
    public static let breaker = Instrument(
        "bellhop_breaker_total", .counter, labels: [Label("change", ["opened", "trial", "closed"])],
        "Changes of circuit breakers: opened, tried with one delivery, closed.")
    public static let receiverPauses = Instrument(
        "bellhop_receiver_pauses_total", .counter, labels: [Label("by", ReceiverStop.Cause.allCases.map(\.rawValue))],
        "Pauses of receivers, by a person or by a refusal.")
    public static let receiverStopped = Instrument(
        "bellhop_receiver_stopped", .gauge, labels: [receiver, Label("cause", stopCauses)],
        "1 while a receiver gets no deliveries for this cause: `failures` until it answers again, `unusable` while a login is refused or a secret is missing."
    )
    public static let stopCauses = ReceiverStop.Cause.allCases.map(\.rawValue) + [unusable]
    /// A login is refused, or a secret is missing.
    public static let unusable = "unusable"
    public static let receiverWaiting = Instrument(
        "bellhop_receiver_waiting_deliveries", .gauge, labels: [receiver],
        "The deliveries that wait for a receiver that is stopped.")
    public static let receiverDeliveryAge = Instrument(
        "bellhop_receiver_delivery_age_seconds", .gauge, unit: .seconds, labels: [receiver], combining: .greatest,
        "The age of the oldest delivery that waits for a receiver or is under way; 0 without one.")

    // MARK: The store

    public static let storeErrors = Instrument("bellhop_store_errors_total", .counter, "Failures of the store.")
    public static let storeUp = Instrument("bellhop_store_up", .gauge, "1 if the store could be read just now, else 0.")
    public static let storeEvents = Instrument("bellhop_store_events", .gauge, "The events in the store.")
    public static let storeEventsUnrouted = Instrument(
        "bellhop_store_events_unrouted", .gauge, "The backlog: stored events that have not gone through the rules.")
    public static let storeDeliveries = Instrument(
        "bellhop_store_deliveries", .gauge, labels: [Label("state", DeliveryState.allCases.map(\.rawValue))],
        "The deliveries in the store, by their state.")

    // MARK: The program

    public static let build = Instrument("bellhop_build_info", .info, labels: [Label("version")], "The version of Bellhop.")
    public static let ready = Instrument("bellhop_ready", .gauge, "1 if the agent is ready, as /health/ready says it, else 0.")
    public static let startTime = Instrument(
        "process_start_time_seconds", .gauge, unit: .seconds, "When the process started, in seconds since 1970.")
    public static let residentMemory = Instrument(
        "process_resident_memory_bytes", .gauge, unit: .bytes, "The process's memory.")
    public static let processorSeconds = Instrument(
        "process_cpu_seconds_total", .counter, unit: .seconds, "The processor time that the process used.")
    public static let openFiles = Instrument("process_open_fds", .gauge, "The process's open files and sockets.")

    // MARK: Telemetry itself

    public static let spans = Instrument(
        "bellhop_telemetry_spans_total", .counter, labels: [Label("result", ["sent", "dropped", "refused"])],
        "Spans of traces: sent, dropped because the receiver was too slow or gone, or refused by it.")
    public static let exports = Instrument(
        "bellhop_telemetry_requests_total", .counter,
        labels: [Label("signal", ["traces", "metrics"]), Label("result", ["done", "retried", "failed"])],
        "Requests to the OpenTelemetry receiver.")
}
