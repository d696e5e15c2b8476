import BellhopCore

extension Session {
    /// The most tasks that are found for a name. A second one shows that the name is ambiguous.
    private static let maxNamed = 2

    func tasks(named name: String) throws -> [NamedTask] {
        var found: [NamedTask] = []
        // The subject of an event, `INSTANCE/ID`, is a name too.
        let last = String(PathText.name(of: name))
        let isSubject = last.utf8.count < name.utf8.count
        for key in isSubject ? [name, last] : [name] where !key.isEmpty {
            var statement = try prepare(SQL.Forgetting.byKey, (":key", PackedName(key)))
            try Self.collect(&statement, into: &found) { key == name || $0.subject == name }
        }
        if found.isEmpty {
            var statement = try prepare(SQL.Forgetting.byName, (":name", name))
            try Self.collect(&statement, into: &found) { _ in true }
        }
        if found.isEmpty, isSubject, try exists(SQL.Forgetting.bySubject, (":name", name)) {
            found.append(NamedTask(subject: name, key: TaskKey(last), number: "", title: ""))
        }
        return found
    }

    private static func collect(
        _ statement: inout Prepared, into found: inout [NamedTask], where isMeant: (NamedTask) -> Bool
    ) throws {
        while found.count < maxNamed, try statement.next() {
            guard let snapshot = Snapshot(json: try statement.json(1, as: .task)) else { continue }
            let task = NamedTask(
                subject: "\(statement.text(0))/\(snapshot.key.text)", key: snapshot.key, number: snapshot.number,
                title: snapshot.title)
            if isMeant(task), !found.contains(where: { $0.subject == task.subject }) { found.append(task) }
        }
    }

    func forget(_ task: NamedTask, by person: Person?, at now: Timestamp) throws -> [Forgotten] {
        let keys =
            try rows(SQL.Forgetting.about, (":subject", task.subject), read: Self.stateKey)
            + rows(SQL.Forgetting.keyed, (":key", task.key.text), read: Self.stateKey)
        var waiting = try prepare(SQL.Rules.waitingAbout, (":subject", task.subject))
        try record(.forgotten, of: &waiting, at: now)
        for key in keys where key.kind == .hold || key.kind == .absence {
            try run(SQL.Rules.forgetBegun, (":rule", key.rule), (":kind", key.kind.rawValue), (":key", key.key))
        }
        try write(keys.map { StateWrite($0, .delete) }, at: .distantPast)
        try change(try timers(endingWith: keys).map { .cancel($0) })
        var counts: [StateKey: Int] = [:]
        // The events of an escalation are a part of it.
        for key in keys where key.kind != .escalated {
            counts[StateKey(rule: key.ruleName, kind: key.kind, key: ""), default: 0] += 1
        }
        try audit(.forget, by: person, ["task": .string(task.subject), "number": .string(task.number)], at: now)
        let held = try dropHeld(about: task, at: now).map { Forgotten(rule: $0, kind: nil, count: $1) }
        return (counts.map { Forgotten(rule: $0.rule, kind: $0.kind, count: $1) } + held)
            .sorted { ($0.rule, $0.kind?.rawValue ?? "quiet") < ($1.rule, $1.kind?.rawValue ?? "quiet") }
    }

    /// The timers that end with these pieces of state: those of waits, and of groups that have no pieces left.
    private func timers(endingWith keys: [StateKey]) throws -> [RuleTimer.ID] {
        var timers: [RuleTimer.ID] = []
        var remains = try prepare(SQL.Forgetting.remains)
        for key in keys {
            guard let kind = key.kind.timer else { continue }
            if key.kind.isGathered {
                try remains.bind(":rule", key.rule)
                try remains.bind(":kind", key.kind.rawValue)
                try remains.bind(":key", key.key)
                if try remains.exists() { continue }
                timers.append(RuleTimer.ID(rule: key.ruleName, kind: kind, key: key.key))
            } else {
                // The wait of an element of a list is a piece of a window.
                timers.append(RuleTimer.ID(rule: key.ruleName, kind: kind, key: key.key.isEmpty ? key.element : key.key))
            }
        }
        return timers
    }

    /// Nil for a kind that only a newer version knows.
    private static func stateKey(_ row: borrowing Prepared) -> StateKey? {
        guard let kind = StateKey.Kind(rawValue: row.text(1)) else { return nil }
        return StateKey(rule: row.text(0), kind: kind, key: row.text(2), element: row.text(3))
    }
}

extension SQL {
    /// Finds a task by any of its names, and the state that rules keep about it.
    enum Forgetting {
        /// The tasks with this key, by the index of each scope.
        static let byKey = """
            SELECT scope.instance, task.snapshot FROM scope CROSS JOIN task ON task.scope = scope.id AND task.key = :key
            UNION ALL
            SELECT scope.instance, departed.snapshot FROM scope CROSS JOIN departed ON departed.scope = scope.id AND departed.key = :key
            """

        /// Reads all tasks. It may be slow, because only the command of a person finds a task by its number or address.
        static let byName = """
            SELECT scope.instance, task.snapshot FROM task JOIN scope ON scope.id = task.scope
            WHERE task.snapshot ->> '$.number' = :name OR task.snapshot ->> '$.url' = :name
            UNION ALL
            SELECT scope.instance, departed.snapshot FROM departed JOIN scope ON scope.id = departed.scope
            WHERE departed.snapshot ->> '$.number' = :name OR departed.snapshot ->> '$.url' = :name
            """

        /// A task that only rules still know.
        static let bySubject = "SELECT 1 FROM rule_state WHERE subject = :name LIMIT 1"

        static let about = "SELECT rule, kind, key, element FROM rule_state WHERE subject = :subject"

        /// The rows of `once` and `throttle` with this key. Goes from rule to rule by the index of rules.
        static let keyed = """
            \(State.namedRules)
            SELECT rule_state.rule, rule_state.kind, rule_state.key, rule_state.element
            FROM named CROSS JOIN (SELECT 'once' AS kind UNION ALL SELECT 'throttle') AS wanted
                CROSS JOIN rule_state
                ON name_key = name_key(named.rule, wanted.kind, :key) AND +rule_state.rule = named.rule
                    AND +rule_state.kind = wanted.kind AND key = :key
            """

        static let remains = "SELECT 1 FROM rule_state WHERE \(State.isOfKey)"
    }
}
