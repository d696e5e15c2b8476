/// The largest group of tasks that one poll shows changed in the same fields.
public struct AlikeChanges: Sendable, Hashable {
    /// The fields, sorted.
    public var fields: [String]
    /// How many tasks changed in exactly these fields.
    public var tasks: Int

    public init(fields: [String], tasks: Int) {
        self.fields = fields
        self.tasks = tasks
    }

    /// The largest group among these changes; nil if there are none.
    public init?(_ events: [Event]) {
        var counts: [[String]: Int] = [:]
        for event in events where event.type == .taskChanged {
            guard let changes = event.changes else { continue }
            counts[changes.map(\.key).sorted(), default: 0] += 1
        }
        guard let most = counts.max(by: { ($0.value, $1.key.count) < ($1.value, $0.key.count) }) else { return nil }
        self.init(fields: most.key, tasks: most.value)
    }
}
