import BellhopCore

/// A case of an explained test that may pass: some of the events, and the actions for them.
struct CaseDraft {
    var name: String
    var events: [StoredEvent]
    var deliveries: [ExplainedDelivery]
    /// When the case ends, if something was done after the last event.
    var end: Timestamp
    let context: RuleContext
    var silences: [Silence] = []
    /// The only rules that run in the case; empty for all rules of the files.
    var only: [String] = []
    /// The places of actions whose text the case does not expect.
    var hiddenTexts: Set<Int> = []
    var expectsNothing = false

    /// How many events before the subject are given, at most.
    private static let before = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512]

    /// The candidates for these events, the shortest first.
    static func candidates(
        of subjects: [StoredEvent], until end: Timestamp, in facts: ExplanationFacts, testing names: Set<String>,
        by book: RuleBook, _ context: RuleContext
    ) -> [CaseDraft] {
        let rules = book.compiled.filter { names.contains($0.name) }
        let dropped = Set(facts.decisions.filter { $0.verdict == .quiet && $0.detail["dropped"] == true }.map(\.delivery))
        let deliveries = facts.deliveries.filter { names.contains($0.rule) && $0.wasMade && !dropped.contains($0.place) }
        let tasks = Set(subjects.map(\.event.subject))
        let emits = rules.contains { rule in rule.allSteps.contains { $0.action.kind == "emit" } }
        let ids = Set(facts.events.map(\.event.id))
        let events = facts.events.filter { event in
            guard context.canBeGiven(event.event), event.event.time <= end || subjects.contains(event) else { return false }
            // The rules emit it again.
            if emits, let cause = event.event.cause, ids.contains(cause) { return false }
            return tasks.contains(event.event.subject)
                || names.contains { book.judge(event, by: $0, tasks: [:], at: event.event.time)?.mayMatter ?? false }
        }
        guard let first = events.firstIndex(where: { event in subjects.contains { $0.sequence == event.sequence } }),
            let last = subjects.last
        else { return [] }
        let what = last.event.task.map { $0.number.isEmpty ? $0.key.text : $0.number } ?? last.event.source
        return before.filter { $0 <= first }.map { before in
            let given = Array(events[(first - before)...])
            let happened = given + (emits ? emitted(by: given, in: facts) : [])
            return CaseDraft(
                name: "\(last.event.type.name) of \(what)", events: given,
                deliveries: deliveries.filter { delivery in
                    (delivery.occasion.isDirect || delivery.created <= end) && happened.contains { delivery.occasion.isFor($0) }
                }, end: end, context: context)
        }
    }

    /// The silences that overlap the time of the case and may concern these rules.
    func silences(among records: [SilenceRecord], testing names: Set<String>) -> [Silence] {
        let start = events.first?.event.time ?? end
        let last = max(end, events.last?.event.time ?? end)
        return records.compactMap { record in
            var silence = record.lasted
            guard silence.starts <= last, start < silence.ends, silence.starts < silence.ends else { return nil }
            if silence.rules.isEmpty { return silence }
            silence.rules.removeAll { !names.contains($0) }
            return silence.rules.isEmpty ? nil : silence
        }
    }

    private static func json(_ silence: Silence) -> JSON {
        var json: JSON.Object = ["starts": .string(silence.starts.rfc3339), "ends": .string(silence.ends.rfc3339)]
        if let when = silence.when { json["when"] = .string(when) }
        if !silence.rules.isEmpty { json["rules"] = .array(silence.rules.map(JSON.string)) }
        if !silence.receivers.isEmpty { json["receivers"] = .array(silence.receivers.map(JSON.string)) }
        if silence.writes { json["writes"] = true }
        return .object(json)
    }

    /// The events that runs for these events emitted, directly or through other events.
    private static func emitted(by events: [StoredEvent], in facts: ExplanationFacts) -> [StoredEvent] {
        var ids = Set(events.map(\.event.id))
        // Each comes after its cause.
        return facts.events.filter { event in
            guard let cause = event.event.cause, ids.contains(cause) else { return false }
            ids.insert(event.event.id)
            return true
        }
    }

    /// The time of the last action that timers took for these events. A wait that was ended early counts up to its planned end.
    static func end(
        of events: [StoredEvent], in facts: [ExplanationFacts], testing names: Set<String>
    ) -> Timestamp {
        let decisions = facts.flatMap(\.decisions).filter { names.contains($0.rule) }
        let ends = decisions.filter { $0.verdict == .cancelled }
        var times = events.map(\.event.time)
        for event in events {
            times += facts.flatMap(\.deliveries).filter {
                names.contains($0.rule) && $0.wasMade && !$0.occasion.isDirect && $0.occasion.isFor(event)
            }.map(\.created)
            for record in decisions where record.occasion.isFor(event) {
                if record.verdict == .notTrueWhenDue { times.append(record.at) }
                guard record.verdict == .waiting,
                    let until = record.detail["until"]?.asMoment,
                    ends.contains(where: {
                        $0.rule == record.rule && $0.detail["key"] == record.detail["key"] && record.at <= $0.at && $0.at <= until
                    })
                else { continue }
                times.append(until)
            }
        }
        return times.max() ?? .distantPast
    }

    /// The folder of the first tested file, to which the others are relative.
    private static func folder(_ tested: [RuleFile]) -> String { PathText.prefix(of: tested.first?.path ?? "") }

    static func path(_ tested: [RuleFile]) -> String { folder(tested) + "explained.test.yaml" }

    func text(of tested: [RuleFile]) -> String {
        let folder = Self.folder(tested)
        let up = String(repeating: "../", count: folder.hasPrefix("/") ? 0 : folder.count { $0 == "/" })
        let paths = tested.map { $0.path.hasPrefix(folder) ? String($0.path.dropFirst(folder.count)) : up + $0.path }
        var given: [JSON] = []
        let start = events.first?.event.time ?? end
        var now = start
        for event in events {
            if event.event.time > now {
                now = event.event.time
                given.append(["at": .string(now.rfc3339)])
            }
            given.append(step(event.event))
        }
        if end > now { given.append(["at": .string(end.rfc3339)]) }
        let result = expectsNothing ? "nothing is done" : "the rules do what they did"
        var test: JSON.Object = ["name": .string("\(name): \(result)"), "at": .string(start.rfc3339)]
        if !only.isEmpty { test["only"] = .array(only.map(JSON.string)) }
        if !silences.isEmpty { test["silences"] = .array(silences.map(Self.json)) }
        test["given"] = .array(given)
        test["expect"] = .array(expectsNothing ? [] : expectations)
        return YAMLWriter.text(["rules": .array(paths.map(JSON.string)), "tests": [.object(test)]])
    }

    /// An event as a step of a test.
    private func step(_ event: Event) -> JSON {
        var step: JSON.Object = [event.type.name: members(of: event), TestKeys.source.name: .string(event.source)]
        // A comment says so itself.
        if event.hop > 0, event.type != .taskCommented, context.events[event.type]?.hasTask == true {
            step[TestKeys.own.name] = true
        }
        return .object(step)
    }

    /// The members of an event in the form of a test: the members of the task that are not empty, and the differences of its
    /// earlier state.
    private func members(of event: Event) -> JSON {
        guard let definition = context.events[event.type] else { return [:] }
        let names = Set(definition.members.map(\.name))
        var data = event.data.filter { names.contains($0.key) }
        guard definition.hasTask, case .object(var task)? = data[.task] else { return .object(data) }
        if case .object(let before)? = data[.before] {
            data[.before] = .object(difference(of: before, from: task, in: event.source))
            data[.changes] = nil
        }
        let fields = self.fields(task, in: event.source)
        let roles = schema(of: event.source).roles
        var mirrored = ["number": "number"]
        if let title = roles.title { mirrored[title] = "title" }
        if let name = roles.className { mirrored[name] = "class" }
        task["fields"] = .object(
            fields.filter { field in
                field.value != "" && field.value != .null && mirrored[field.key].flatMap { task[$0] } != field.value
            })
        for name in ["source", "url"] { task[name] = nil }
        for name in ["labels", "fields"] where task[name] == [:] { task[name] = nil }
        data[.task] = .object(task)
        return .object(data)
    }

    private func difference(of before: JSON.Object, from task: JSON.Object, in source: String) -> JSON.Object {
        var result = before.filter { !["source", "fields", "url"].contains($0.key) && task[$0.key] != $0.value }
        let present = fields(task, in: source)
        let changed = fields(before, in: source).filter { present[$0.key] != $0.value }
        if !changed.isEmpty { result["fields"] = .object(changed) }
        return result
    }

    private func fields(_ task: JSON.Object, in source: String) -> JSON.Object {
        guard case .object(let fields)? = task["fields"] else { return [:] }
        let schema = schema(of: source)
        return fields.filter { context.isOpen || schema[$0.key] != nil || $0.key == Snapshot.created }
    }

    private func schema(of source: String) -> TaskSchema {
        (context.sources.first { $0.name == source } ?? context.assumedSource(source)).schema
    }

    /// The deliveries by action. All deliveries of a step in one run are one action.
    var actions: [[ExplainedDelivery]] {
        var groups: [[ExplainedDelivery]] = []
        for delivery in deliveries {
            if let last = groups.last?.last, last.occasion == delivery.occasion, last.rule == delivery.rule,
                last.step == delivery.step
            {
                groups[groups.count - 1].append(delivery)
            } else {
                groups.append([delivery])
            }
        }
        return groups
    }

    private var expectations: [JSON] {
        actions.enumerated().map { place, group in
            var arguments: JSON.Object = [:]
            let first = group[0]
            if first.argument == "title" {
                arguments["to"] = group.count == 1 ? .string(first.receiver) : .array(group.map { .string($0.receiver) })
            }
            if let name = first.argument, !hiddenTexts.contains(place) { arguments[name] = .string(first.content) }
            var action: JSON.Object = [first.action: .object(arguments), "rule": .string(first.rule)]
            if first.state == .dead, first.attempts.isEmpty { action["dead"] = true }
            return .object(action)
        }
    }
}

extension RuleContext {
    /// Whether a test can give the event.
    func canBeGiven(_ event: Event) -> Bool {
        guard event.type != .scheduleDue, let definition = events[event.type] else { return false }
        return definition.canBeNamed
    }
}

extension ExplainedDelivery {
    /// Whether a test of its rule makes it, too: no silence or quiet time kept it back, and no person had its event routed again.
    fileprivate var wasMade: Bool { ![.silenced, .quiet].contains(state) && occasion.replayed == nil }

    fileprivate var place: Delivery.ID { Delivery.ID(occasion: occasion, rule: rule, step: step, receiver: receiver) }
}

extension DecisionRecord {
    /// The delivery that it is about.
    fileprivate var delivery: Delivery.ID {
        Delivery.ID(
            occasion: occasion, rule: rule, step: StepPath(detail["step"]?.asString ?? ""),
            receiver: detail["receiver"]?.asString ?? "")
    }
}

extension Occasion.ID {
    /// Whether it is of an event, and not of a timer or an escalation.
    fileprivate var isDirect: Bool { run == self && event != nil }
}
