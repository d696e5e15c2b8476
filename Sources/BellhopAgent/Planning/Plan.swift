public import BellhopCore
public import BellhopRules

/// The differences between the configuration and rules in force and those in the files.
public struct Plan: Sendable {
    public struct Rule: Sendable, Hashable {
        public enum Change: String, Sendable { case added, removed, changed }

        public var name: String
        public var change: Change
        /// The keys of the rule whose values change.
        public var parts: [String] = []
        /// Whether the rule's schedule, waits, counts and groups continue; nil if it has none.
        public var keepsTimers: Bool?
        /// What it has under way in the store and loses; nil if nothing.
        public var ends: EndedWaits?
    }

    /// Names that are added, removed, or kept with changed settings.
    public struct Names: Sendable, Hashable {
        public var added: [String]
        public var removed: [String]
        public var changed: [String]

        init(_ before: [String], _ after: [String], hasChanged: (String) -> Bool = { _ in false }) {
            added = after.filter { !before.contains($0) }
            removed = before.filter { !after.contains($0) }
            changed = after.filter { before.contains($0) && hasChanged($0) }
        }

        public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
    }

    public var rules: [Rule] = []
    public var sources: Names
    /// The sources whose next poll only records the existing tasks, because the store has no tasks of their scope yet.
    public var baselines: [String] = []
    public var connections: Names
    public var secrets: Names
    /// The other keys of bellhop.yaml whose values change.
    public var settings: [String]
    /// A back-test of the last day against the rules in force; nil if it could not be made.
    public var report: BackTestReport?
    /// Why there is no report, as a sentence.
    public var obstacle: String?

    public var isEmpty: Bool {
        rules.isEmpty && sources.isEmpty && baselines.isEmpty && connections.isEmpty && secrets.isEmpty && settings.isEmpty
    }

    /// - Parameters:
    ///   - before: the rules in force, if they can be loaded.
    ///   - scopes: the scopes of the sources in the files, by name.
    ///   - known: the scopes of which the store has a baseline.
    ///   - waits: what the rules have under way in the store.
    public init(
        _ inForce: RulesInForce, _ files: RulesInForce, before: RuleBook?, after: RuleBook, scopes: [String: Scope.ID],
        known: Set<Scope.ID>, waits: [StoreStatus.WaitStatus] = [], at now: Timestamp
    ) {
        let (oldSettings, newSettings) = (inForce.settings, files.settings)
        // An agent of an earlier version did not store the settings.
        func differs(_ place: String) -> Bool { !oldSettings.isEmpty && oldSettings[place] != newSettings[place] }
        sources = Names(inForce.sources, files.sources) { differs("sources/" + $0) }
        connections = Names(inForce.connections, files.connections) { differs("connections/" + $0) }
        settings = Set(oldSettings.keys).union(newSettings.keys).filter { !$0.contains("/") && differs($0) }.sorted()
        secrets = Names(inForce.secrets, files.secrets)
        baselines = scopes.filter { !known.contains($0.value) }.keys.sorted()
        let (old, new) = (RuleParts.parts(of: inForce.files), RuleParts.parts(of: files.files))
        let (oldTimers, newTimers) = (Self.timers(of: before, at: now), Self.timers(of: after, at: now))
        for name in Set(old.keys).union(new.keys).sorted() {
            switch (old[name], new[name]) {
            case (nil, _?): rules.append(Rule(name: name, change: .added))
            case (_?, nil): rules.append(Rule(name: name, change: .removed))
            case (let oldRule?, let newRule?) where oldRule != newRule:
                var rule = Rule(name: name, change: .changed, parts: RuleParts.changed(oldRule, newRule))
                if let timers = oldTimers[name] { rule.keepsTimers = timers == newTimers[name] }
                rules.append(rule)
            default: break
            }
        }
        let ends = Self.ends(of: waits, before, after, at: now)
        for place in rules.indices { rules[place].ends = ends[rules[place].name] }
    }

    /// What each rule has under way and loses: its waits, if it is removed or waits for something else now, and its escalations, if it is
    /// removed or turned off. A rule with a new name is another rule.
    private static func ends(
        of waits: [StoreStatus.WaitStatus], _ before: RuleBook?, _ after: RuleBook, at now: Timestamp
    ) -> [String: EndedWaits] {
        func registrations(_ book: RuleBook?) -> [String: RuleRegistration] {
            Dictionary((book?.registrations(at: now) ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        }
        let (old, new) = (registrations(before), registrations(after))
        var ends: [String: EndedWaits] = [:]
        for wait in waits {
            let isEscalation = wait.part == .escalation
            if let rule = new[wait.rule] {
                guard let former = old[wait.rule], isEscalation ? rule.isOff && !former.isOff : rule.waits != former.waits else {
                    continue
                }
            }
            let number = wait.part == .group ? wait.gathered : wait.count
            guard number > 0 else { continue }
            var ended = ends[wait.rule] ?? EndedWaits(rule: wait.rule, waits: 0, escalations: 0)
            if isEscalation { ended.escalations += number } else { ended.waits += number }
            ends[wait.rule] = ended
        }
        return ends
    }

    /// The parts of each rule that define its timers. Leaves out rules without timers.
    private static func timers(of book: RuleBook?, at now: Timestamp) -> [String: [String]] {
        var found: [String: [String]] = [:]
        for rule in book?.registrations(at: now) ?? [] {
            let waits = book?.waits(rule.name) ?? false ? rule.waits : nil
            let parts = [rule.schedule?.text, waits].compactMap(\.self)
            if !parts.isEmpty { found[rule.name] = parts }
        }
        return found
    }

    public var json: JSON {
        func json(_ names: Names) -> JSON {
            [
                "added": .array(names.added.map(JSON.string)), "removed": .array(names.removed.map(JSON.string)),
                "changed": .array(names.changed.map(JSON.string)),
            ]
        }
        func numbers(_ ends: EndedWaits) -> JSON {
            ["waits": .int(Int64(ends.waits)), "escalations": .int(Int64(ends.escalations))]
        }
        return [
            "changes": .bool(!isEmpty),
            "rules": .array(
                rules.map { rule in
                    [
                        "rule": .string(rule.name), "change": .string(rule.change.rawValue),
                        "parts": .array(rule.parts.map(JSON.string)),
                        "timers": rule.keepsTimers.map { .string($0 ? "keep" : "anew") } ?? .null,
                        "ends": rule.ends.map(numbers) ?? .null,
                    ]
                }),
            "sources": json(sources), "baselines": .array(baselines.map(JSON.string)), "receivers": json(connections),
            "secrets": json(secrets), "settings": .array(settings.map(JSON.string)),
            "difference": report?.difference?.json ?? .null, "obstacle": .optional(obstacle),
        ]
    }
}
