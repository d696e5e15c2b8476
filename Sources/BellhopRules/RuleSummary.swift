public import BellhopCore

/// A description of a rule, available without running it.
public struct RuleSummary: Sendable, Hashable {
    public enum Mode: Sendable, Hashable {
        case live, shadow, off
        case canary(Canary)

        var isCanary: Bool { if case .canary = self { true } else { false } }
    }

    public var name: String
    public var file: String
    public var line: Int
    public var description: String?
    /// The types of events it is for.
    public var types: [EventType]
    /// The sources that `from` names; empty for all.
    public var sources: [String]
    /// Changes with the rule's own text.
    public var revision: String
    public var mode: Mode
    /// Its schedule, such as `30 8 * * MON-FRI Europe/Berlin`; nil without one.
    public var schedule: String?
    /// The kinds of its actions, in order.
    public var actions: [String]
    /// The abilities that its actions need of connections, in the order of the actions.
    public var uses: [ActionUse]
}
