/// The share of the tasks for which a rule is live. For the other tasks, and for runs without a task, it is in shadow mode.
public struct Canary: Sendable, Hashable {
    public var percent: Int

    /// 0 % would be `shadow`, and 100 % `live`.
    public static let range = 1...99

    public init(percent: Int) { self.percent = percent }

    /// Whether the rule is live for the task: decided by a hash of both, so that a task keeps its answer, and two rules take
    /// different tasks.
    public func includes(_ task: String, of rule: String) -> Bool {
        let hash = UInt64(Identity.of([rule, task]).prefix(16), radix: 16) ?? .max
        return hash % 100 < UInt64(percent)
    }
}
