import BellhopCore
import CEL
import YAML

struct RuleReader: ProblemCollector {
    let file: String
    let context: RuleContext
    let purpose: ExpressionPurpose
    var problems = Diagnostics()

    /// The rule's name, read first so that a rule with other errors still reserves its name.
    mutating func name(of node: YAML.Node) -> String? {
        guard let mapping = node.mapping else {
            return refuse("wrong-type", "a rule must be a mapping, not \(node.kind)", at: node, help: "begin with `rule: a-name`")
        }
        guard let place = mapping["rule"]?.value else {
            // A misspelled `rule` is reported as an unknown key.
            if !mapping.contains(where: { Self.meant(by: $0.name) == "rule" }) {
                report("missing-key", "this rule has no name", at: node, help: "begin with `rule: a-name`")
            }
            return nil
        }
        guard let name = place.scalarText, !name.isEmpty else {
            return refuse("wrong-type", "`rule` must be a name, not \(place.kind)", at: place)
        }
        guard name.utf8.count <= 100, name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || ".-_".utf8.contains($0) }) else {
            return refuse(
                "wrong-value", "`\(name)` is not a valid rule name", at: place,
                help: "letters, digits, `.`, `_` and `-`, at most 100")
        }
        return name
    }

    /// The whole rule; nil if it has errors.
    ///
    /// - Parameter former: the version of a text for escalations under way, which has no `do`.
    mutating func read(
        _ node: YAML.Node, name: String, sharing cache: SharedNameCache, former: String? = nil
    ) -> Rule? {
        guard let mapping = node.mapping else { return nil }
        let subject = name.isEmpty ? "this rule" : "rule `\(name)`"
        let outdented = self.outdented(in: mapping)
        let misplaced = outdented.reduce(into: Set<String>()) { $0.formUnion($1.names.union([$1.head.name])) }
        let meant = checkKeys(mapping, besides: misplaced)
        let simple = RuleKeys.rule.filter { ["description", "limit", "mode", "enabled"].contains($0.name) }
        let others = Set(mapping.names).subtracting(simple.map(\.name))
        let settings = self.settings(node, as: simple, of: "a rule", besides: others)
        let mode = self.mode(settings, mapping["mode"]?.value)

        var trigger = TriggerReader(file: file, context: context)
        if let on = mapping["on"]?.value {
            if !misplaced.contains("on") { trigger.read(on) }
        } else if !meant.contains("on") {
            report("missing-key", "\(subject) has no `on`", at: node, help: "add, for example, `on: task_created`")
        }
        problems.report(trigger.problems)
        let types = trigger.triggers.map(\.type)
        let draft = trigger.pattern
        // The events that a run may be for. The run of an absence that begins by itself has no event.
        let isForNoEvent = draft?.kind == Pattern.Kind.none && draft?.after.isEmpty == true
        let own = draft?.kind == Pattern.Kind.none ? draft?.after.flatMap(\.trigger.triggers).map(\.type) ?? [] : types
        let events = own.compactMap { context.events[$0] }
        let from = self.from(mapping["from"]?.value, types.compactMap { context.events[$0] })
        let fromOfEntries = draft.flatMap { self.fromOfEntries($0, from) }
        // If the rule's events or sources are unknown, its expressions are checked with every field allowed, so that the other
        // errors are still reported.
        let isVague = types.isEmpty || from == nil
        let sources = self.sources(fromOfEntries ?? from ?? [])
        if let from { problems.all += EventReach(context, from: from).warnings(trigger.places, file: file) }
        let shared =
            isVague
            ? SharedNames(
                sources, isOpen: true, queryHint: context.queryHint, on: cache.base,
                snapshots: cache.snapshots) : cache.names(for: sources)
        var names = RuleNames(
            shared, rule: name, events: events.isEmpty && !isForNoEvent ? [Self.anyEvent] : events,
            zone: trigger.schedule?.zoneName ?? context.timeZoneName, isForElement: mapping["each"] != nil)
        if isForNoEvent { names.declareNoEvent() }
        check(trigger.fields, names.types)
        if !isVague { check(trigger.ends, LabelFacts(sources: sources, isOpen: context.isOpen)) }

        var compiler = ExpressionCompiler(file: file, names: names, purpose: purpose)
        compiler.names.declare(Set(mapping.names + (draft.map { [$0.kind.rawValue] } ?? [])))
        if trigger.isOnlySchedule, mapping["count"] == nil, mapping["group"] == nil { compiler.names.declareDigest() }
        // The former values of `let` have a scope of their own beside the present ones.
        readLet(mapping["let"]?.value, rule: former.map { "\(name)/\($0)" } ?? name, &compiler)
        let condition = mapping["when"].flatMap {
            compiler.condition($0.value, "`when`", instead: "to turn the rule off, write `enabled: false`")
        }
        if let condition, let place = mapping["when"]?.value, condition.needs.contains(.gathered),
            draft == nil || draft?.kind == Pattern.Kind.none && condition.variables.contains("events")
        {
            report(
                "not-known-yet", "`when` cannot use `events`, `key` or `since`", at: place,
                help: "`when` is checked before the rule waits, counts or gathers; use them in `do`")
        }
        var time = timeParts(mapping, besides: misplaced, trigger, events, &compiler)
        if let draft {
            time.pattern = pattern(draft, mapping, rule: name, from: isVague ? nil : from, sharing: cache, &compiler)
        }
        if time.hold != nil, let condition, let place = mapping["when"]?.value {
            warnOfNextEvent(condition, compiler.names, place)
        }
        let once = mapping["once"].flatMap { key($0.value, "`once`", &compiler, isLate: true) }
        let throttle = mapping["throttle"].flatMap { misplaced.contains("throttle") ? nil : self.throttle($0.value, &compiler) }
        warnOfKeyBesideGroup(mapping, time.group)
        let quiet = mapping["quiet"].flatMap {
            misplaced.contains("quiet") ? nil : self.quiet($0, zone: trigger.schedule?.zone ?? context.timeZone, &compiler)
        }
        problems.report(compiler.takeProblems())
        let writable = compiler.names.isAboutTask && !isVague ? sources : []
        var steps = StepReader(context: context, rule: name, sources: writable, compiler: compiler)
        let actions = mapping["do"].map { steps.read($0.value) } ?? []
        if mapping["do"] == nil, !meant.contains("do"), former == nil {
            report("missing-key", "\(subject) has no `do`", at: node, help: "add `do:` and a list of actions")
        }
        let escalation = escalation(mapping, trigger, condition, &steps)
        problems.report(steps.compiler.takeProblems())
        if let pair = mapping["each"],
            actions.contains(where: { $0.needs.contains(.digest) }) || condition?.needs.contains(.digest) == true
                || time.each?.needs.contains(.digest) == true
        {
            report(
                "not-together", "`events` are those of all tasks, and `each` runs the rule for each task", at: pair.key,
                help: "leave `each` out, and write the tasks under `list`")
        }
        let all = actions + (escalation?.steps.flatMap(\.actions) ?? [])
        if let limit = mapping["limit"], settings.record("limit") != nil,
            !all.contains(where: {
                $0.action.effect == .writes || $0.mayWriteUnseen(to: Set(context.sources.map(\.connection)))
            })
        {
            warn("unused-limit", "`limit` counts writes to tasks, but this rule writes to no task", at: limit.key)
        }
        warnOfUnusedQuiet(mapping["quiet"], actions)
        warnOfOwnComments(mapping, trigger, actions)
        guard !problems.hasErrors, let from else { return nil }

        purpose.coverage?.add(rule: name, at: Diagnostic.Place(mapping["rule"]?.value ?? node, file: file))
        let summary = RuleSummary(
            name: name, file: file, line: node.range.start.line, description: settings.text("description"), types: types.unique(),
            sources: from, revision: Fingerprint(content: node.source.text(in: node.range)).hex,
            mode: settings.boolean("enabled") == false ? .off : mode, schedule: trigger.schedule?.text,
            actions: all.map(\.action.kind), uses: all.map { ActionUse($0, sources: sources) })
        return Rule(
            summary: summary, triggers: trigger.triggers, schedule: trigger.schedule, sources: from, scopes: sources.map(\.scope),
            snapshots: steps.compiler.snapshots.sorted { $0.text < $1.text }, condition: condition, time: time,
            waits: waits(mapping, condition, time, compiler.names), once: once, throttle: throttle,
            quiet: quiet, limit: Self.budget(settings), steps: actions, escalation: escalation,
            zone: trigger.schedule?.zone ?? context.timeZone)
    }

    /// Used instead of the events of a rule whose `on` has mistakes.
    private static let anyEvent = EventDefinition(
        .taskChanged, "", from: .tasks, EventCatalogue.builtIn[.taskChanged]?.members ?? [], isOpen: true)

    // MARK: Keys

    /// The known key that an unknown one means; nil if unclear.
    private static func meant(by key: String) -> String? {
        let known = RuleKeys.rule.map(\.name)
        return known.contains(key) ? nil : RuleKeys.aliases[key] ?? Suggestion.closest(to: key, among: known)
    }

    /// Reports unknown keys. Returns the known keys that were meant by them.
    private mutating func checkKeys(_ mapping: Mapping, besides misplaced: Set<String>) -> Set<String> {
        let known = RuleKeys.rule.map(\.name)
        var meant: Set<String> = []
        for pair in mapping where !known.contains(pair.name) && !misplaced.contains(pair.name) {
            let help: String?
            if let word = Self.meant(by: pair.name), mapping[word] == nil { meant.insert(word) }
            if pair.name.unicodeScalars.contains("\u{A0}") {
                help = "it contains a no-break space: write ordinary blanks"
            } else if let word = RuleKeys.aliases[pair.name], mapping[word] == nil {
                help = "write `\(word)`"
            } else if context.actions.contains(where: { $0.kind == pair.name }) {
                help = "actions belong in a list under `do`"
            } else if let advice = RuleKeys.advice[pair.name] {
                help = advice
            } else if RuleKeys.pattern.contains(where: { $0.name == pair.name }) {
                help =
                    "write it under `on`, for example `on: {none: task_commented, after: task_created, within: 4h, by: task.id}`"
            } else {
                help = Suggestion.didYouMean(pair.name, among: known)
            }
            report("unknown-key", "a rule has no setting `\(pair.name)`", at: pair.key, help: help)
        }
        return meant
    }

    /// Empty keys whose contents are not indented under them.
    private mutating func outdented(in mapping: Mapping) -> [Outdented] {
        let inner = [
            "on": RuleKeys.schedule + RuleKeys.every + RuleKeys.pattern, "throttle": RuleKeys.throttle, "count": RuleKeys.count,
            "group": RuleKeys.group, "quiet": RuleKeys.quiet,
        ].mapValues { $0.map(\.name) }
        return mapping.compactMap { pair in
            guard let names = inner[pair.name], let found = Outdented(pair, in: mapping, belongs: { names.contains($0.name) })
            else { return nil }
            problems.report(found.diagnostic(file: file))
            return found
        }
    }

    // MARK: Parts

    private mutating func check(_ fields: [(name: String, node: YAML.Node)], _ types: TaskTypes) {
        for field in fields where !types.changeable.contains(field.name) {
            let help = Suggestion.didYouMean(field.name, among: types.changeable)
            if types.isOpen, help == nil || types.isCustom(field.name) { continue }
            report("unknown-field", "no field `\(field.name)` on \(types.task.name)", at: field.node, help: help)
        }
    }

    /// Warns about `from` and `to` values that are labels if the sources read no labels.
    private mutating func check(_ ends: [(field: String, text: String, node: YAML.Node)], _ labels: LabelFacts) {
        for end in ends {
            guard let mismatch = labels.withoutLabels.mismatch(among: [end.text], in: end.field, typed: true) else { continue }
            var help = LabelFacts.setting(for: mismatch.source)
            if case .isLabel(let values) = mismatch.reason { help = "write `\(values[0])`, or \(help)" }
            warn(
                "no-labels", "`\(end.field)` is never `\(end.text)`: source `\(mismatch.source.name)` reads no labels",
                at: end.node, help: help)
        }
    }

    private mutating func mode(_ settings: Settings, _ node: YAML.Node?) -> RuleSummary.Mode {
        if settings.text("mode") == "shadow" { return .shadow }
        guard let text = settings.record("mode")?.text("canary"), let place = node?["canary"] else { return .live }
        let digits = text.hasSuffix("%") ? String(text.dropLast()).trimmedBlanks : ""
        guard digits.utf8.allSatisfy(\.isASCIIDigit), let percent = Int(digits) else {
            report(
                "wrong-value", "`\(text)` is not a share of the tasks", at: place, help: "write a whole percentage, such as `10%`"
            )
            return .live
        }
        guard Canary.range.contains(percent) else {
            report(
                "wrong-value", "`canary` must be from 1% to 99%, not \(text)", at: place,
                help: percent == 0
                    ? "write `mode: shadow` for a rule that is live for no task"
                    : "leave `mode` out for a rule that is live for every task")
            return .live
        }
        return .canary(Canary(percent: percent))
    }

    private static func budget(_ settings: Settings) -> Budget? {
        guard let rate = settings.record("limit"), let count = rate.integer("count"), let time = rate.duration("microseconds")
        else { return nil }
        return Budget(writes: count, within: time)
    }
}
