import BellhopCore
import CEL
import YAML

/// `on: {all}`, `{sequence}` and `{none}`.
extension RuleReader {
    /// The sources whose events a run may be for, if the entries have a `from` of their own; otherwise nil.
    mutating func fromOfEntries(_ draft: PatternDraft, _ from: [String]?) -> [String]? {
        guard let from else { return nil }
        let entries = draft.kind == .none && !draft.after.isEmpty ? draft.after : draft.entries
        guard entries.contains(where: { $0.from != nil }) else { return nil }
        var names: [String] = []
        for entry in entries {
            // Its mistakes are reported when the entry itself is read.
            let before = problems
            let own = entry.from == nil ? from : self.from(entry.from, events(of: entry)) ?? []
            problems = before
            if own.isEmpty { return [] }
            names += own.filter { !names.contains($0) }
        }
        return names
    }

    private func events(of entry: PatternDraft.Entry) -> [EventDefinition] {
        entry.trigger.triggers.compactMap { context.events[$0.type] }
    }

    /// - Parameter from: the rule's; nil if its events or sources have mistakes.
    mutating func pattern(
        _ draft: PatternDraft, _ mapping: Mapping, rule: String, from: [String]?, sharing cache: SharedNameCache,
        _ compiler: inout ExpressionCompiler
    ) -> Pattern? {
        let within = draft.within.flatMap { span($0, "`within`") }
        guard let from else { return nil }
        var number = 0
        func read(_ drafts: [PatternDraft.Entry], _ reader: inout RuleReader) -> [Pattern.Entry] {
            drafts.compactMap { entry in
                number += 1
                return reader.entry(entry, mapping, rule: rule, number, from: from, sharing: cache, &compiler)
            }
        }
        let (entries, after) = (read(draft.entries, &self), read(draft.after, &self))
        let events = (draft.entries + draft.after).flatMap(events)
        var by: RuleExpression?
        let isBySource = draft.by?.scalarText?.trimmedBlanks == "source"
        if let node = draft.by {
            if draft.kind == .none, draft.after.isEmpty, !isBySource {
                report(
                    "wrong-value", "without `after`, `by` must be `source` or left out", at: node,
                    help: "write `by: source` to wait for each source separately, or add `after`, the event that begins the wait")
            } else {
                let all = Pattern(kind: draft.kind, entries: entries, after: after, within: Span(time: .zero), by: nil)
                let others = entries.isEmpty ? from : all.sources
                by = with(names(events, others, rule: rule, cache), mapping, rule: "\(rule)/by", &compiler) { reader, compiler in
                    reader.key(node, "`by`", &compiler)
                }
            }
        } else if draft.kind == .none, !draft.after.isEmpty, let pair = mapping["on"] {
            let ends = draft.entries.flatMap(self.events(of:))
            // A task is created once: `none: task_created` waits for any other task.
            if ends.contains(where: { $0.type != .taskCreated }), (ends + events).allSatisfy(\.hasTask) {
                warn(
                    "one-for-all", "an event of any task ends this wait, and no other task is waited for meanwhile", at: pair.key,
                    help: "add `by: task.id` beside `none`, to wait for each task separately")
            }
        }
        guard let within else { return nil }
        var pattern = Pattern(kind: draft.kind, entries: entries, after: after, within: within, by: by)
        (pattern.isByTask, pattern.isBySource) = (Self.isTaskID(draft.by), isBySource)
        if pattern.beginsByItself { pattern.watched = watched(pattern) }
        return pattern
    }

    private mutating func entry(
        _ draft: PatternDraft.Entry, _ mapping: Mapping, rule: String, _ number: Int, from: [String],
        sharing cache: SharedNameCache, _ compiler: inout ExpressionCompiler
    ) -> Pattern.Entry? {
        let events = events(of: draft)
        guard let from = draft.from == nil ? from : self.from(draft.from, events) else { return nil }
        problems.all += EventReach(context, from: from).warnings(draft.trigger.places, file: file)
        var entry = Pattern.Entry(triggers: draft.trigger.triggers, condition: nil, sources: from)
        guard let node = draft.condition else { return entry }
        entry.condition = with(names(events, from, rule: rule, cache), mapping, rule: "\(rule)/\(number)", &compiler) {
            $1.compile(node, "`when`", expecting: .bool)
        }
        return entry
    }

    private func names(
        _ events: [EventDefinition], _ from: [String], rule: String, _ cache: SharedNameCache
    ) -> RuleNames {
        RuleNames(cache.names(for: sources(from)), rule: rule, events: events, zone: context.timeZoneName)
    }

    /// Reads an expression with other names than the rule's, and with the rule's values of `let`.
    /// - Parameter rule: distinguishes these values from the same ones elsewhere.
    private mutating func with(
        _ names: RuleNames, _ mapping: Mapping, rule: String, _ compiler: inout ExpressionCompiler,
        _ read: (inout RuleReader, inout ExpressionCompiler) -> RuleExpression?
    ) -> RuleExpression? {
        let own = compiler.names
        defer { compiler.names = own }
        compiler.names = names
        if let values = mapping["let"]?.value {
            // Their mistakes are reported once, for the rule.
            let (problems, reported) = (self.problems, compiler.takeProblems())
            readLet(values, rule: rule, &compiler)
            _ = compiler.takeProblems()
            self.problems = problems
            compiler.problems.report(reported)
        }
        return read(&self, &compiler)
    }

    /// The sources and connections from which the events of an absence can come.
    private func watched(_ pattern: Pattern) -> [String] {
        var names: [String] = []
        for entry in pattern.entries {
            let types = entry.triggers.map(\.type)
            if context.isOpen {
                names += entry.sources.isEmpty ? [""] : entry.sources
                continue
            }
            let all = context.sources.map(\.name) + context.connections.map(\.name)
            names += (entry.sources.isEmpty ? all : entry.sources).filter { name in
                types.contains { type in
                    guard let origin = context.events[type]?.origin else { return false }
                    let isNamed: Bool
                    switch origin {
                    case .connection: isNamed = context.connections.contains { $0.name == name }
                    case .tasks, .page, .source, .outside: isNamed = context.sources.contains { $0.name == name }
                    case .rule, .delivery: isNamed = false
                    }
                    return isNamed && EventReach(context, from: [name]).obstacle(to: type, among: types) == nil
                }
            }
        }
        return names.unique()
    }
}
