import BellhopCore
import BellhopRules
import Testing

@testable import BellhopAgent

@Suite struct PlanTests {
    private func files(_ text: String) -> [RuleFile] { [RuleFile(path: "rules/a.yaml", bytes: Array(text.utf8))] }

    private func plan(
        _ before: String, _ after: String, sources: ([String], [String]) = ([], []), connections: ([String], [String]) = ([], []),
        secrets: ([String], [String]) = ([], []), scopes: [String: Scope.ID] = [:], known: Set<Scope.ID> = [],
        waits: [StoreStatus.WaitStatus] = []
    ) throws -> Plan {
        let now = Timestamp(seconds: 1_767_603_600)
        func state(_ text: String, _ sources: [String], _ connections: [String], _ secrets: [String]) -> RulesInForce {
            RulesInForce(at: now, files: files(text), connections: connections, sources: sources, secrets: secrets)
        }
        func book(_ text: String) throws -> RuleBook { try RuleBook.load(files(text), context: RuleLoading.openContext()) }
        return Plan(
            state(before, sources.0, connections.0, secrets.0), state(after, sources.1, connections.1, secrets.1),
            before: try book(before), after: try book(after), scopes: scopes, known: known, waits: waits, at: now)
    }

    private static let plain = "rule: a\non: task_created\ndo: [{log: x}]\n"

    @Test func `the same files in another layout change nothing`() throws {
        #expect(try plan(Self.plain, Self.plain).isEmpty)
        #expect(try plan(Self.plain, "# A comment\nrule: a\non: [task_created]\ndo:\n  - log: x\n").rules.map(\.name) == ["a"])
        #expect(try plan(Self.plain, "# A comment\nrule:   a\n\non: task_created\ndo:\n  - log: x\n").isEmpty)
    }

    @Test func `added, removed and changed rules are named in order, with the keys that change`() throws {
        let before = Self.plain + "---\nrule: c\non: task_created\ndo: [{log: x}]\n"
        let after =
            "rule: a\non: task_created\nwhen: task.priority == 1\ndo: [{log: y}]\n---\nrule: b\non: task_created\ndo: [{log: x}]\n"
        let rules = try plan(before, after).rules
        #expect(rules.map(\.name) == ["a", "b", "c"] && rules.map(\.change) == [.changed, .added, .removed])
        #expect(Set(rules[0].parts) == ["when", "do"] && rules[0].keepsTimers == nil)
    }

    @Test func `a changed step keeps the timers of a rule, a changed wait or schedule restarts them`() throws {
        let waiting = "rule: a\non: task_created\nfor: 5m\ndo: [{log: x}]\n"
        #expect(try plan(waiting, waiting.replacing("log: x", with: "log: y")).rules.map(\.keepsTimers) == [true])
        #expect(try plan(waiting, waiting.replacing("5m", with: "6m")).rules.map(\.keepsTimers) == [false])
        let daily = "rule: a\non: {every: 1d}\ndo: [{log: x}]\n"
        #expect(try plan(daily, daily.replacing("log: x", with: "log: y")).rules.map(\.keepsTimers) == [true])
        #expect(try plan(daily, daily.replacing("1d", with: "2d")).rules.map(\.keepsTimers) == [false])
    }

    @Test func `what a rule has under way ends if it is renamed or turned off, and waits also if they change`() throws {
        let rule = "rule: a\non: task_created\nfor: 5m\ndo: [{log: x}]\nescalate: {after: 4h, do: [{log: y}]}\n"
        let waits = [
            StoreStatus.WaitStatus(rule: "a", part: .hold, count: 2),
            StoreStatus.WaitStatus(rule: "a", part: .escalation, count: 1),
            StoreStatus.WaitStatus(rule: "a", part: .group, count: 1, gathered: 3),
        ]
        func ends(_ after: String) throws -> [EndedWaits?] { try plan(rule, after, waits: waits).rules.map(\.ends) }
        let all = EndedWaits(rule: "a", waits: 5, escalations: 1)
        #expect(try ends(rule.replacing("rule: a", with: "rule: b")) == [all, nil])
        #expect(try ends(rule + "enabled: false\n") == [all])
        #expect(try ends(rule.replacing("5m", with: "6m")) == [EndedWaits(rule: "a", waits: 5, escalations: 0)])
        #expect(try ends(rule.replacing("log: x", with: "log: z")) == [nil])
        let json = try plan(rule, rule.replacing("rule: a", with: "rule: b"), waits: waits).json
        #expect(json["rules"]?[0]?["ends"] == ["waits": 5, "escalations": 1])
    }

    @Test func `added and removed sources, receivers and secrets, and new baselines, are named`() throws {
        let (old, new) = (Scope.ID(text: "old"), Scope.ID(text: "new"))
        let plan = try plan(
            Self.plain, Self.plain, sources: (["s", "t"], ["s", "u"]), connections: (["x"], []), secrets: ([], ["k"]),
            scopes: ["s": old, "u": new], known: [old])
        #expect(plan.sources.added == ["u"] && plan.sources.removed == ["t"] && plan.baselines == ["u"])
        #expect(plan.connections.removed == ["x"] && plan.secrets.added == ["k"] && !plan.isEmpty)
        #expect(plan.json["changes"] == true && plan.json["receivers"]?["removed"] == ["x"])
        #expect(try self.plan(Self.plain, Self.plain, scopes: ["s": old], known: [old]).isEmpty)
        #expect(try !self.plan(Self.plain, Self.plain, scopes: ["s": new], known: [old]).isEmpty)
    }

    private func inForce(_ bellhop: String, sources: [String] = [], connections: [String] = []) -> RulesInForce {
        RulesInForce(
            at: Timestamp(seconds: 0), files: [], connections: connections, sources: sources, secrets: [],
            settings: ConfigurationLoader.fingerprints(Array(bellhop.utf8)))
    }

    @Test func `changed connections, sources and settings of bellhop.yaml are named, changes of layout are not`() throws {
        let before =
            "version: 1\nconnections:\n  a: {kind: webhook, url: x}\n  b: {kind: webhook}\nsources:\n  s: {every: 1m}\nretention: {events: 1d}\n"
        let after =
            "version: 1\nconnections:\n  a: {kind: webhook, url: y}\n  b:\n    kind: webhook\nsources: {s: {every: 2m}}\ncalendars: {}\n"
        func plan(_ one: String, _ other: String) throws -> Plan {
            let book = try RuleBook.load([], context: RuleLoading.openContext())
            return Plan(
                inForce(one, sources: ["s"], connections: ["a", "b"]), inForce(other, sources: ["s"], connections: ["a", "b"]),
                before: book, after: book, scopes: [:], known: [], at: Timestamp(seconds: 0))
        }
        let changes = try plan(before, after)
        #expect(changes.connections.changed == ["a"] && changes.sources.changed == ["s"])
        #expect(changes.settings == ["calendars", "retention"] && !changes.isEmpty)
        #expect(try plan(before, before).isEmpty)
        // Written by an older agent, which did not record them.
        #expect(try plan("", after).connections.isEmpty)
    }
}
