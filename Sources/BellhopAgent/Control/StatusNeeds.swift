import BellhopConnectors
import BellhopCore
import BellhopTelemetry

/// The problems in a status that only a person can solve, one sentence each.
public enum StatusNeeds {
    /// The first sentence of a status if no agent runs.
    public static let noAgent = "No agent is running."
    public static let refusedRules = "The changed rules have errors, and the old ones are in force: `bellhop check` says which."
    public static let wrongConfiguration =
        "The changed configuration has mistakes, and the agent cannot start with it: `bellhop check` says which."
    public static let unreadableConfiguration =
        "The configuration is missing or cannot be read, and the agent cannot start without it: `bellhop check` says why."
    public static let restartNeeded = "The configuration changed, and the agent must be restarted to use it."

    /// - Parameters:
    ///   - agent: the running agent's part of the status; nil without an agent.
    ///   - silentAgent: the process of an agent that has the store, but does not answer on its socket.
    static func sentences(
        _ status: StoreStatus, agent: JSON.Object?, silentAgent: Int32? = nil, at now: Timestamp
    ) -> [String] {
        var sentences: [String] = []
        if let agent { add(agent, at: now, &sentences) } else { sentences.append(silentAgent.map(notAnswering) ?? noAgent) }
        for source in status.sources where source.health.announced {
            sentences.append("The source \(source.source) is failing: " + ended(source.health.lastError))
        }
        let stops = status.stopped(at: now).map(\.stop)
        for stop in stops where stop.cause == .refusal {
            sentences.append(
                "The receiver \(stop.receiver) is paused: \(shortened(stop.sentence)) Repair it, then `bellhop resume \(stop.receiver)`."
            )
        }
        let paused = Set(stops.filter(\.cause.isPause).map(\.receiver))
        // Without an agent nothing is tried, and while writes are paused, perhaps not this delivery.
        let knowsNext = agent != nil && !status.pauses.contains { $0.subject == .writes }
        for backlog in status.backlog where !paused.contains(backlog.receiver) {
            guard let failure = backlog.failure else { continue }
            if backlog.isUnusable {
                sentences.append(
                    "The connection \(backlog.receiver) cannot be used, and its deliveries wait: " + ended(failure.message))
            } else if now - (backlog.firstAttempt ?? backlog.since) >= longestFailing {
                // No delivery is tried while its receiver is stopped.
                let next = (stops.filter { $0.receiver == backlog.receiver }.map(\.until) + [backlog.next]).compactMap(\.self)
                    .max()
                sentences.append(
                    "A delivery to \(backlog.receiver) keeps failing: " + ended(failure.message)
                        + (next.map { knowsNext && $0 > now ? " It is tried next at \($0)." : "" } ?? ""))
            }
        }
        for pause in status.pauses where !pause.isByPerson {
            guard case .rule(let rule) = pause.subject else { continue }
            sentences.append("The rule \(rule) is paused: \(ended(pause.reason)) Repair it, then `bellhop resume \(rule)`.")
        }
        for rule in status.rules where rule.lastError != nil {
            sentences.append("The rule \(rule.rule) failed when it last ran: " + ended(rule.lastError))
        }
        for state in [DeliveryState.dead, .held] {
            let count = status.deliveries[state] ?? 0
            if count > 0 {
                sentences.append(
                    "\(counted(count, "delivery is", "deliveries are")) \(state.rawValue): `bellhop deliveries --state \(state.rawValue)`."
                )
            }
        }
        return sentences
    }

    private static func notAnswering(_ process: Int32) -> String {
        "An agent (process \(process)) has the store, but does not answer on its socket: restart it, unless it is starting, is stopping "
            + "or is a `bellhop run --once`."
    }

    /// That a silence keeps nothing back, because of a mistake; nil for any other.
    static func refusedSilence(_ silence: JSON) -> String? {
        guard let problem = silence["problem"]?.asString else { return nil }
        return
            "The condition of the silence \(silence["id"].textOrEmpty) has a mistake, so it keeps nothing back: \(ended(problem))"
    }

    /// The beginning of a reason, which may quote a remote system's answer. The list of paused receivers has the whole reason.
    private static func shortened(_ sentence: String) -> String { Redaction.excerpt(sentence, length: longestReason) }

    /// A delivery needs a person when its first attempt was this long ago, and it still fails.
    private static let longestFailing = Duration.seconds(900)

    /// The length of a shortened reason, in characters.
    private static let longestReason = 120

    /// A message with a full stop at its end.
    private static func ended(_ message: String?) -> String {
        let message = message ?? "no reason is known"
        return message.hasSuffix(".") ? message : message + "."
    }

    private static func add(_ agent: JSON.Object, at now: Timestamp, _ sentences: inout [String]) {
        sentences += agent["hanging"].texts.map(Health.hanging)
        if let count = agent["refused_rules"]?.asInt, count > 0 { sentences.append(refusedRules) }
        if agent["configuration_wrong"] == true {
            sentences.append(wrongConfiguration)
        } else if agent["configuration_unreadable"] == true {
            sentences.append(unreadableConfiguration)
        } else if agent["restart_needed"] == true {
            sentences.append(restartNeeded)
        }
        let unbound = agent["unbound"]?.asObject ?? [:]
        for connection in unbound.keys.sorted() {
            sentences.append(
                "The \(connection.hasPrefix("source ") ? connection : "connection " + connection) does not use the changed secrets: "
                    + ended(unbound[connection]?.asString))
        }
        if let trouble = agent["store_trouble"], let time = trouble["time"]?.asMoment,
            StoreWatch.recent.contains(now - time), trouble["is_over"] != true
        {
            sentences.append("The store failed: " + ended(trouble["message"]?.asString))
        }
    }
}
