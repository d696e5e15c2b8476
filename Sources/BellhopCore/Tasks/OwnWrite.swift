/// A write that one of our deliveries made to a task, or may have made.
public struct OwnWrite: Sendable, Hashable {
    public var hop: Int
    /// The values that an update set, by the names of fields in the table; empty for comments, files and new tasks.
    public var fields: JSON.Object
    /// Whether it may have created the task, changed its fields or moved it: a comment or a file does not.
    public var movesTask: Bool

    public init(hop: Int, fields: JSON.Object = [:], movesTask: Bool = false) {
        self.hop = hop
        self.fields = fields
        self.movesTask = movesTask || !fields.isEmpty
    }
}

/// The difference between two snapshots of a task, divided into what our own writes made and what others made.
public struct DividedChange: Sendable, Hashable {
    public var own: [Change.FieldChange] = []
    public var others: [Change.FieldChange] = []
    /// The highest hop of the writes that made `own`.
    public var hop = 0

    /// A changed field is ours if an update set it to its present value, or if the system computes it from a field that an update set.
    /// All are ours if the record shows that only our account has changed it, and not more often than we wrote: then a rule of the
    /// system changed the other fields. All are ours, too, if the record does not show who changed it how often: otherwise our rules
    /// and a rule of the system that answers our writes could trigger each other for ever.
    /// - Parameter user: our account; empty if it is unknown, so that only the number of changes counts.
    public init(
        _ changes: [Change.FieldChange], from before: Snapshot, to after: Snapshot, by writes: [OwnWrite],
        _ schema: TaskSchema, user: String
    ) {
        guard !writes.isEmpty else {
            others = changes
            return
        }
        let updates = schema.updates(from: before, to: after)
        let isOurs = updates.map { updates in
            (user.isEmpty || updates.last == user.lowercased()) && 1...writes.count ~= updates.count
        }
        if isOurs ?? true {
            (own, hop) = (changes, writes.map(\.hop).max() ?? 0)
            return
        }
        for change in changes {
            let path = schema.path(of: change.field)
            if let highest = writes.filter({ $0.caused(change, path, after, schema) }).map(\.hop).max() {
                own.append(change)
                hop = max(hop, highest)
            } else {
                others.append(change)
            }
        }
    }
}

extension OwnWrite {
    fileprivate func caused(_ change: Change.FieldChange, _ path: String, _ after: Snapshot, _ schema: TaskSchema) -> Bool {
        if schema.roles.computed[path]?.contains(where: { fields[$0] != nil }) == true { return true }
        guard let set = fields[path] else { return false }
        if Change.isSame(set, change.to) || set.isNull && change.to.isEmptyText { return true }
        guard let text = set.asString else { return false }
        // A rule may set a value by its label.
        let field = schema[change.field]
        if TaskSchema.Choice.values(called: text, among: field?.choices ?? []).contains(where: {
            Change.isSame(.string($0), change.to)
        }) {
            return true
        }
        if let label = after.labels[change.field]?.asString { return label == text }
        // The rule may have set the record's name instead of its id; without labels they cannot be compared.
        return field?.holdsID == true && !change.to.isEmptyText
    }
}

extension JSON {
    fileprivate var isEmptyText: Bool { isNull || self == "" }
}

extension TaskSchema {
    /// How often a record was changed between two snapshots, and who changed it last; nil if they do not say so.
    fileprivate func updates(from before: Snapshot, to after: Snapshot) -> (count: Int, last: String)? {
        func value(_ path: String?, of task: Snapshot) -> JSON? {
            path.flatMap { path in task.fields[fields.first { $0.path == path }?.name ?? path] }
        }
        guard let user = value(roles.updatedBy, of: after)?.asString, let first = value(roles.updates, of: before)?.asInt,
            let last = value(roles.updates, of: after)?.asInt
        else { return nil }
        return Int(exactly: last.subtractingReportingOverflow(first).partialValue).map { ($0, user.lowercased()) }
    }

    /// The name in the record of a field of a change.
    fileprivate func path(of name: String) -> String {
        switch name {
        case "title": roles.title ?? name
        case "class": roles.className ?? name
        default: self[name]?.path ?? name
        }
    }
}

extension Snapshot {
    /// The task without these changes.
    public func undoing(_ changes: [Change.FieldChange], from before: Snapshot) -> Snapshot {
        var task = self
        for change in changes {
            switch change.field {
            case "number": task.number = before.number
            case "title": task.title = before.title
            case "class": (task.className, task.type) = (before.className, before.type)
            default: break
            }
            if fields[change.field] != nil { task.fields[change.field] = before.fields[change.field] }
            if labels[change.field] != nil { task.labels[change.field] = before.labels[change.field] }
        }
        return task
    }
}
