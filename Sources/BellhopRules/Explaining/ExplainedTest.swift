public import BellhopCore

/// A test case for `*.test.yaml`, made from recorded events and the actions that rules took for them. Pure.
///
/// It contains only those earlier events that it needs to pass.
public struct ExplainedTest: Sendable {
    /// The text of the test file, to be stored in the folder of the rules.
    public var text: String
    /// The reasons why the case does not pass; empty if it passes.
    public var problems: [Diagnostic]

    private static let maxTexts = 50

    /// - Parameters:
    ///   - event: the event that the case is about; nil for all events of the first of `facts`.
    ///   - facts: the stored facts about the event or its task, then facts about more of the bus, which are used only if needed.
    ///   - rule: the only rule to test. Nil for all rules in the files of the rules that could have run. If the other rules of
    ///     these files do more in the test than they did, only the rules that could have run are tested.
    ///   - files: those of the rules.
    ///   - expectsNothing: whether to expect that nothing is done.
    /// - Throws: every problem of the files, or that no test can give such an event.
    public init(
        of event: StoredEvent?, in facts: [ExplanationFacts], rule: String? = nil, expectsNothing: Bool = false,
        by book: RuleBook, files: [RuleFile], context: RuleContext
    ) throws(Diagnostics) {
        let subjects = event.map { [$0] } ?? facts.first?.events ?? []
        for event in subjects where !context.canBeGiven(event.event) {
            throw Diagnostics(
                code: "no-test", "a test cannot give `\(event.event.type.name)`",
                help: "write `wait:` or `at:`: schedules fire as time passes")
        }
        let accounts = facts.first.map { Explanation($0, by: book, at: subjects.last?.event.time ?? .distantPast).events } ?? []
        let asked = accounts.filter { account in subjects.contains { $0.sequence == account.event.sequence } }
        let names = rule.map { [$0] } ?? asked.flatMap(\.rules).filter(\.isRelevant).map(\.rule)
        let paths = Set(book.rules.filter { names.contains($0.name) }.map(\.file))
        guard !subjects.isEmpty, !paths.isEmpty else {
            throw Diagnostics(
                code: "no-test", "no rule runs for such events, so there is nothing to test", help: "name a rule: `--rule R`")
        }
        if let named = rule.flatMap(book.rule(named:)), named.schedule != nil,
            !subjects.contains(where: { named.isFor($0.event) })
        {
            throw Diagnostics(
                code: "no-test", "rule `\(named.name)` runs on its schedule, and not on these events",
                help: "write a test with `wait:` or `at:`: schedules fire as time passes")
        }
        let tested = files.filter { paths.contains($0.path) }
        let silences = facts.flatMap(\.silences)
        let all = Set(book.rules.filter { paths.contains($0.file) }.map(\.name))
        // Rules that did not see the events did nothing, and an absence that began by itself is not about these events.
        let own = Set(asked.flatMap(\.rules).filter { $0.isRelevant && $0.verdict != .unseen }.map(\.rule)).intersection(all)
        let direct = own.filter { !(book.rule(named: $0)?.time.pattern?.beginsByItself ?? false) }
        let choices =
            rule.map { [Set([$0])] }
            ?? [all, own, direct].reduce(into: []) { choices, names in
                if !names.isEmpty, !choices.contains(names) { choices.append(names) }
            }
        let candidates = choices.flatMap { names in
            let end = CaseDraft.end(of: subjects, in: facts, testing: names)
            var drafts = facts.flatMap {
                CaseDraft.candidates(of: subjects, until: end, in: $0, testing: names, by: book, context)
            }
            for place in drafts.indices {
                drafts[place].only = rule == nil && names == all ? [] : names.sorted()
                drafts[place].silences = drafts[place].silences(among: silences, testing: names)
            }
            return drafts
        }
        func run(_ draft: CaseDraft) throws(Diagnostics) -> [Diagnostic] {
            let file = RuleFile(path: CaseDraft.path(tested), bytes: Array(draft.text(of: tested).utf8))
            return try RuleTests.run([file], rules: tested, context: context).flatMap(\.problems)
        }
        var found: (draft: CaseDraft, problems: [Diagnostic])?
        search: for hidesTexts in [false, true] {
            for var draft in candidates {
                draft.hiddenTexts = hidesTexts ? Set(draft.actions.indices) : []
                let problems = try run(draft)
                if found == nil || problems.isEmpty { found = (draft, problems) }
                if problems.isEmpty { break search }
            }
        }
        // Only texts that differ in the test are left out.
        for place in found?.draft.hiddenTexts.sorted().prefix(Self.maxTexts) ?? [] where found?.problems.isEmpty ?? false {
            guard var draft = found?.draft else { break }
            draft.hiddenTexts.remove(place)
            if try run(draft).isEmpty { found?.draft = draft }
        }
        found?.draft.expectsNothing = expectsNothing
        text = found?.draft.text(of: tested) ?? ""
        problems = found?.problems ?? []
    }
}
