public import BellhopCore

/// Whether the agent is live and ready, with the reasons why not.
///
/// The agent is *live* while its loops make progress; otherwise only a restart helps. It is *ready* when its store is open and accepts
/// changes, its rules are in force, and each source was polled once since the start. A failing source, a paused receiver or a paused rule
/// is only reported, because the others work.
public struct Health: Sendable, Hashable {
    public struct Reason: Sendable, Hashable {
        public enum Code: String, Sendable, Hashable, CaseIterable {
            /// A loop of the agent has made no progress for minutes.
            case loopHangs = "loop_hangs"
            /// The store cannot be read, or accepted no change when it was last tried.
            case storeFails = "store_fails"
            case noRules = "no_rules"
            /// A source has not been polled since the start.
            case sourceNotPolled = "source_not_polled"
            case sourceFails = "source_fails"
            /// The rule files have mistakes, and the previous rules are in force.
            case rulesRefused = "rules_refused"
            /// A receiver gets nothing until a person resumes it.
            case receiverPaused = "receiver_paused"
            /// A rule sees no events until a person resumes it.
            case rulePaused = "rule_paused"
        }

        /// The state that a reason prevents.
        public enum Effect: String, Sendable, Hashable, CaseIterable {
            case live, ready
            /// The reason is only reported.
            case nothing
        }

        public var code: Code
        /// One sentence, without secrets and addresses, because everyone who may query the health reads it.
        public var text: String

        public var blocks: Effect {
            switch code {
            case .loopHangs: .live
            case .storeFails, .noRules, .sourceNotPolled: .ready
            case .sourceFails, .rulesRefused, .receiverPaused, .rulePaused: .nothing
            }
        }
    }

    /// All reasons. Those that prevent a state come first.
    public var reasons: [Reason]

    public var isLive: Bool { !reasons.contains { $0.blocks == .live } }
    public var isReady: Bool { reasons.allSatisfy { $0.blocks == .nothing } }

    public init(_ facts: HealthFacts) {
        var reasons = facts.hangingLoops.sorted().map { Reason(code: .loopHangs, text: Self.hanging($0)) }
        if facts.storeFails { reasons.append(Reason(code: .storeFails, text: "The store fails; `bellhop status` says why.")) }
        if !facts.hasRules { reasons.append(Reason(code: .noRules, text: "No rules are in force yet.")) }
        let sources = facts.sources.sorted { $0.name < $1.name }
        for source in sources where !source.wasPolled && source.failures == 0 {
            reasons.append(
                Reason(code: .sourceNotPolled, text: "The source \(source.name) has not been polled since the start."))
        }
        for source in sources where source.failures > 0 {
            reasons.append(Reason(code: .sourceFails, text: "The source \(source.name) fails; `bellhop status` says why."))
        }
        if facts.refusedRules > 0 {
            reasons.append(Reason(code: .rulesRefused, text: "The changed rules have errors, and the old ones are in force."))
        }
        for receiver in facts.pausedReceivers.sorted() {
            reasons.append(
                Reason(code: .receiverPaused, text: "The receiver \(receiver) is paused until a person resumes it."))
        }
        for rule in facts.pausedRules.sorted() {
            reasons.append(Reason(code: .rulePaused, text: "The rule \(rule) is paused until a person resumes it."))
        }
        self.reasons = reasons
    }

    /// The sentence about a loop that makes no progress.
    public static func hanging(_ loop: String) -> String {
        "The loop \(loop) has made no progress for minutes: restart the agent."
    }

    /// The answer to a probe: `{"live", "ready", "reasons": [{"code", "text", "blocks"}]}`.
    public var json: JSON {
        [
            "live": .bool(isLive), "ready": .bool(isReady),
            "reasons": .array(
                reasons.map { reason in
                    [
                        "code": .string(reason.code.rawValue), "text": .string(reason.text),
                        "blocks": .string(reason.blocks.rawValue),
                    ]
                }),
        ]
    }
}

/// The facts from which the health of an agent is computed.
public struct HealthFacts: Sendable, Hashable {
    public struct Source: Sendable, Hashable {
        public var name: String
        /// Whether a poll of it succeeded since the start, or its latest result is held.
        public var wasPolled: Bool
        /// Failed polls in a row.
        public var failures: Int

        public init(name: String, wasPolled: Bool, failures: Int) {
            (self.name, self.wasPolled, self.failures) = (name, wasPolled, failures)
        }
    }

    /// The loops that have made no progress for too long.
    public var hangingLoops: [String] = []
    /// Whether the store cannot be read, or accepted no change when it was last tried.
    public var storeFails = false
    public var hasRules = true
    /// The number of errors in the changed rules, because of which they are not in force.
    public var refusedRules = 0
    /// The sources that are polled.
    public var sources: [Source] = []
    /// Connections only; addresses that rules compute are left out.
    public var pausedReceivers: [String] = []
    public var pausedRules: [String] = []

    public init() {}
}
