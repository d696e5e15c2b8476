import BellhopCore

/// Why the rules of a test did not perform an action that it expected.
struct TestReasons {
    let run: TestRun
    /// The actions that a silence or a quiet time kept back, without those that the test expects.
    let keptBack: [TestComparison.ActualAction]

    /// How many events, and how many messages that were not sent, are explained per rule.
    private static let most = 3

    /// The reasons of each rule that has the expected action.
    func lines(for expected: TestCase.Expectation) -> [String] {
        let rules = run.book.compiled.filter { rule in
            rule.allSteps.contains { $0.action.kind == expected.kind } && (expected.rule.map { $0 == rule.name } ?? true)
        }
        guard !rules.isEmpty else {
            let name = expected.rule.map { "rule `\($0)` is not tested here, or" } ?? "no tested rule"
            return ["\(name) has \(expected.rule == nil ? "" : "no ")`\(expected.kind)` under `do`"]
        }
        return rules.flatMap { lines(of: $0, expected.kind) }
    }

    /// The last events for which the rule did nothing, and its messages that were not sent. Events that its `on` does not match are
    /// explained only if there is nothing else.
    private func lines(of rule: Rule, _ kind: String) -> [String] {
        let unsent = unsent(rule, kind).suffix(Self.most).map { "rule `\(rule.name)`: \($0)" }
        let all = run.refusals.filter { $0.rule === rule && $0.prevented(kind) }
        let own = all.filter { !$0.isOfTrigger }
        if own.isEmpty, unsent.isEmpty { return idle(rule) + explained(all, rule) }
        return unsent + explained(own, rule)
    }

    private func explained(_ refusals: [RuleRefusal], _ rule: Rule) -> [String] {
        let before = refusals.count - Self.most
        let earlier = before == 1 ? "1 earlier event was" : "\(before) earlier events were"
        return (before > 0 ? ["rule `\(rule.name)`: \(earlier) also stopped"] : [])
            + refusals.suffix(Self.most).flatMap { $0.lines(in: run.book) }
    }

    /// The messages that the rule made and that were not sent, as clauses.
    private func unsent(_ rule: Rule, _ kind: String) -> [String] {
        let held = keptBack.filter { $0.rule == rule.name && $0.kind == kind }.map { action -> String in
            let at = action.at.formatted(in: rule.zone)
            if action.isSilenced {
                return "a silence kept `\(kind)` back at \(at); to expect that, write `silenced: true` beside it"
            }
            let what =
                action.until.map { "a quiet time keeps `\(kind)` of \(at) back until \($0.formatted(in: rule.zone))" }
                ?? "a quiet time dropped `\(kind)` at \(at)"
            return "\(what); to expect that, write `quiet: true` beside it"
        }
        let empty = run.deliveries.filter { $0.id.rule == rule.name && $0.action == kind && $0.isEmptyMessage }
        return held
            + empty.map {
                "`\(kind)` at \($0.createdAt.formatted(in: rule.zone)) was empty, and `skip_empty` keeps it from being sent"
            }
    }

    /// How often the rule ran, and when it would run next; nothing if neither is known.
    private func idle(_ rule: Rule) -> [String] {
        let runs = Set(run.deliveries.filter { $0.id.rule == rule.name }.map(\.id.occasion.run)).count
        var clauses: [String] = []
        if runs > 0 { clauses.append(runs == 1 ? "it ran only once" : "it ran only \(runs) times") }
        if let next = run.next(of: rule), let event = Self.words(next.id.kind) {
            let end = run.trial.now.formatted(in: rule.zone)
            clauses.append("\(event) at \(next.due.formatted(in: rule.zone)), but the test ends at \(end)")
        }
        if clauses.isEmpty, run.trial.observer.places.isEmpty {
            clauses = [rule.isOff ? "it is turned off (`enabled: false`)" : "no event was given"]
        }
        return clauses.isEmpty ? [] : ["rule `\(rule.name)`: \(clauses.joined(separator: "; "))"]
    }

    /// What happens when a timer of this kind is due, as a clause; nil if it happens when the rules are loaded.
    private static func words(_ kind: RuleTimer.Kind) -> String? {
        switch kind {
        case .schedule: "its schedule is due"
        case .hold: "the time of `for` is over"
        case .absence: "the time of `none` is over"
        case .group: "the time of `group` is over"
        case .escalation: "the next step of `escalate` is due"
        case .existing: nil
        }
    }
}
