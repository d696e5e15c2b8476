import BellhopCore

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
            var statement = try prepare(SQL.Rules.overflow)
            try statement.bind(":name", rule)
            guard try statement.next() else { continue }
            let (keys, once, most) = (Int(statement.int(0)), Int(statement.int(1)), Int(statement.int(2)))
            let escalations = Int(statement.int(3))
            statement.stop()
            var loss = KeyLoss(rule: rule, dropped: 0, most: most, isStopped: false)
            // Drop more than needed, so that not every new key causes a scan.
            if keys > most { loss.dropped = try drop(keys - most + most / 100, of: rule) }
            for (count, what) in [(once, "keys of `once`"), (escalations, "escalations")] where count > most {
                let why = "it has \(count) \(what), and may remember \(most): `retention: {keys: …}` in bellhop.yaml"
                if try keep(Pause(.rule(rule), since: now, why: why)) { loss.isStopped = true }
            }
            if loss.dropped > 0 || loss.isStopped { losses.append(loss) }
        }
        return losses
    }

    private func drop(_ count: Int, of rule: String) throws -> Int {
        var find = try prepare(SQL.Rules.oldestKeys)
        try find.bind(":name", rule)
        try find.bind(":count", count)
        var keys: [(rule: String, kind: String, key: String)] = []
        while try find.next() { keys.append((find.text(0), find.text(1), find.text(2))) }
        for key in keys {
            for text in SQL.Rules.dropKey {
                var statement = try prepare(text)
                try statement.bind(":rule", key.rule)
                try statement.bind(":kind", key.kind)
                try statement.bind(":key", key.key)
                try statement.run()
            }
            guard let kind = StateKey.Kind(rawValue: key.kind)?.timer else { continue }
            try change([.cancel(RuleTimer.ID(rule: rule, kind: kind, key: key.key))])
        }
        var counted = try prepare(SQL.Rules.countDropped)
        try counted.bind(":count", keys.count)
        try counted.bind(":name", rule)
        try counted.run()
        return keys.count
    }
}
