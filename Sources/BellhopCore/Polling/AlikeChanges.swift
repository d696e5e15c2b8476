/// The tasks that one poll shows changed in the same fields: the most for any fields.
public struct AlikeChanges: Sendable, Hashable {
    /// The fields, in their order.
    public var fields: [String]
    /// How many tasks changed in these and no others.
    public var tasks: Int

    public init(fields: [String], tasks: Int) {
        self.fields = fields
        self.tasks = tasks
    }

    /// The most of these changes that are alike; nil where there are none.
    public init?(_ events: [Event]) {
        var counts: [[String]: Int] = [:]
        for event in events where event.type == .taskChanged {
            guard let changes = event.data["changes"]?.asObject else { continue }
            counts[changes.map(\.key).sorted(), default: 0] += 1
        }
        guard let most = counts.max(by: { ($0.value, $1.key.count) < ($1.value, $0.key.count) }) else { return nil }
        self.init(fields: most.key, tasks: most.value)
    }
}
