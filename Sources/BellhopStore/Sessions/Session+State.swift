import BellhopCore

extension Session {
    func state(for keys: [StateKey]) throws -> RuleState {
        var state: RuleState = [:]
        var statement = try prepare(SQL.State.read)
        for key in keys {
            try statement.bind(":rule", key.rule)
            try statement.bind(":kind", key.kind.rawValue)
            try statement.bind(":key", key.key)
            while try statement.next() { state[key.at(statement.text(0))] = try statement.json(1, as: .ruleState) }
        }
        return state
    }

    /// The waits of rules under these keys. A rule mostly has fewer waits than a burst has events: then all of its waits are read at
    /// once, instead of looking for each key.
    func waits(for keys: [String: [String]]) throws -> RuleState {
        var state: RuleState = [:]
        var counting = try prepare(SQL.State.waitCount)
        var statement = try prepare(SQL.State.waits)
        for (rule, keys) in keys {
            let wanted = Set(keys)
            try counting.bind(":rule", rule)
            try counting.bind(":limit", wanted.count + 1)
            let count = try counting.next() ? counting.int(0) : 0
            counting.stop()
            if count > wanted.count {
                state.merge(try self.state(for: wanted.map { StateKey(rule: rule, kind: .hold, key: $0) }))
            } else if count > 0 {
                try statement.bind(":rule", rule)
                while try statement.next() {
                    let key = statement.text(0)
                    guard wanted.contains(key) else { continue }
                    state[StateKey(rule: rule, kind: .hold, key: key, element: statement.text(1))] =
                        try statement.json(2, as: .ruleState)
                }
            }
        }
        return state
    }

    /// Throws ``RouteConflict`` if a value is not the expected one.
    func write(_ writes: [StateWrite], at now: Timestamp) throws {
        guard !writes.isEmpty else { return }
        var insert = try prepare(SQL.State.insert)
        var update = try prepare(SQL.State.update)
        var updateValue = try prepare(SQL.State.updateValue)
        var delete = try prepare(SQL.State.delete)
        for write in writes {
            let isDone: Bool
            switch (write.change, write.expected) {
            case (.set(let value, let expires), .absent):
                isDone = try Self.set(&insert, write.key, value, expires, at: now) == 1
            case (.set(let value, let expires), .any):
                try update.bind(":expected", text: nil)
                if try Self.set(&update, write.key, value, expires, at: now) == 0 {
                    try Self.set(&insert, write.key, value, expires, at: now)
                }
                isDone = true
            case (.set(let value, let expires), .value(let expected)):
                let isAboutTheSame = value["event"] == expected["event"] && value["subject"] == expected["subject"]
                let text = expected.encoded()
                if isAboutTheSame {
                    try updateValue.bind(":expected", text: text)
                    isDone = try Self.set(&updateValue, write.key, value, expires, at: now) == 1
                } else {
                    try update.bind(":expected", text: text)
                    isDone = try Self.set(&update, write.key, value, expires, at: now) == 1
                }
            case (.delete, let expected):
                var text: [UInt8]?
                if case .value(let expected) = expected { text = expected.encoded() }
                try delete.bind(":expected", text: text)
                try Self.bind(write.key, to: &delete)
                let count = try delete.run()
                isDone = expected == .any || count == (expected == .absent ? 0 : 1)
            }
            if !isDone { throw RouteConflict.state(write.key) }
        }
    }

    @discardableResult
    private static func set(
        _ statement: inout Prepared, _ key: StateKey, _ value: JSON, _ expires: Timestamp?, at now: Timestamp
    ) throws -> Int {
        try bind(key, to: &statement)
        try statement.bind(":value", text: StoredForm.ruleState.stamp(value).encoded())
        try statement.bind(":expires", expires)
        try statement.bind(":at", now)
        return try statement.run()
    }

    private static func bind(_ key: StateKey, to statement: inout Prepared) throws {
        try statement.bind(":rule", key.rule)
        try statement.bind(":kind", key.kind.rawValue)
        try statement.bind(":key", key.key)
        try statement.bind(":element", key.element)
    }
}

extension Session {
    /// Drops the least recently used keys of the rules that now remember more keys than they may. A rule with too many keys of `once` or
    /// escalations is paused, because these are never dropped.
    func limitKeys(of writes: [StateWrite], at now: Timestamp) throws -> [KeyLoss] {
        var rules: Set<String> = []
        for write in writes where write.key.kind != .budget {
            guard case .set = write.change else { continue }
            rules.insert(write.key.ruleName)
        }
        var losses: [KeyLoss] = []
        for rule in rules.sorted() {
            var statement = try prepare(SQL.Rules.overflow, (":name", rule))
            guard try statement.next() else { continue }
            let (keys, once, most) = (Int(statement.int(0)), Int(statement.int(1)), Int(statement.int(2)))
            let escalations = Int(statement.int(3))
            statement.stop()
            var loss = KeyLoss(rule: rule, dropped: 0, most: most, isStopped: false)
            // Drop more than needed, so that not every new key causes a scan.
            if keys > most { loss.dropped = try drop(keys - most + most / 100, of: rule, at: now) }
            for (count, what) in [(once, "keys of `once`"), (escalations, "escalations")] where count > most {
                let reason = "it has \(count) \(what), and may remember \(most): `retention: {keys: …}` in bellhop.yaml"
                if try keep(Pause(.rule(rule), since: now, reason: reason, isByPerson: false)) { loss.isStopped = true }
            }
            if loss.dropped > 0 || loss.isStopped { losses.append(loss) }
        }
        return losses
    }

    /// Returns how many of the dropped keys had not expired.
    private func drop(_ count: Int, of rule: String, at now: Timestamp) throws -> Int {
        let keys = try rows(SQL.Rules.oldestKeys, (":name", rule), (":count", count), (":now", now)) { row in
            (rule: row.text(0), kind: row.text(1), key: row.text(2), isLost: row.int(3) == 1)
        }
        for key in keys {
            for text in [SQL.Rules.forgetBegun, SQL.Rules.dropKey] {
                try run(text, (":rule", key.rule), (":kind", key.kind), (":key", key.key))
            }
            guard let kind = StateKey.Kind(rawValue: key.kind)?.timer else { continue }
            try change([.cancel(RuleTimer.ID(rule: rule, kind: kind, key: key.key))])
        }
        let lost = keys.count(where: \.isLost)
        try run(SQL.Rules.countDropped, (":count", lost), (":name", rule))
        return lost
    }
}

extension SQL {
    enum State {
        static let isOfKey = SQL.isNamed(":rule", ":kind", ":key")

        /// Begins a statement with the rules that have state, found by the index of rules, as `named`.
        static let namedRules = """
            WITH RECURSIVE named (rule) AS (
                SELECT min(rule) FROM rule_state
                UNION ALL
                SELECT (SELECT min(rule) FROM rule_state WHERE rule_state.rule > named.rule) FROM named WHERE rule IS NOT NULL
            )
            """

        static let read = "SELECT element, value FROM rule_state WHERE \(isOfKey)"

        static let waits = "SELECT key, element, value FROM rule_state WHERE rule = :rule AND kind = 'hold'"

        /// The number of a rule's waits, at most `:limit`. Reads only the index.
        static let waitCount = """
            SELECT count(*) FROM (SELECT 1 FROM rule_state WHERE rule = :rule AND kind = 'hold' LIMIT :limit)
            """

        /// Adds a row unless there is one.
        static let insert = """
            INSERT INTO rule_state (rule, kind, key, element, name_key, value, expires, used, event, subject)
            SELECT :rule, :kind, :key, :element, name_key(:rule, :kind, :key), :value, :expires, :at,
                :value ->> '$.event', :value ->> '$.subject'
            WHERE NOT EXISTS (SELECT 1 FROM rule_state WHERE \(isOfKey) AND element = :element)
            """

        static let update = """
            UPDATE rule_state
            SET value = :value, expires = :expires, used = :at, event = :value ->> '$.event', subject = :value ->> '$.subject'
            WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """

        /// Leaves the event and the subject of the row, and so their indexes, unchanged.
        static let updateValue = """
            UPDATE rule_state SET value = :value, expires = :expires, used = :at
            WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """

        static let delete = """
            DELETE FROM rule_state WHERE \(isOfKey) AND element = :element AND (:expected IS NULL OR value = :expected)
            """
    }
}
