import BellhopCore
import YAML

/// Reads `on`: types of events, changes of fields, a schedule, or several events.
struct TriggerReader: ProblemCollector {
    let file: String
    let context: RuleContext
    private(set) var triggers: [Trigger] = []
    /// The types of events as written, with their places.
    private(set) var places: [EventReach.Place] = []
    private(set) var schedule: RuleSchedule?
    /// `all`, `sequence` or `none`.
    private(set) var pattern: PatternDraft?
    /// Whether only a schedule makes the rule run.
    var isOnlySchedule: Bool { schedule != nil && triggers.allSatisfy { $0.type == .scheduleDue } }
    /// Fields that triggers name, with their places; checked once the rule's sources are known.
    private(set) var fields: [(name: String, node: Node)] = []
    /// The `from` and `to` values of changes, with their places.
    private(set) var ends: [(field: String, text: String, node: Node)] = []
    var problems = Diagnostics()

    mutating func read(_ node: Node) {
        if let items = node.items {
            if items.isEmpty { report("wrong-type", "`on` names no event", at: node) }
            for item in items {
                if items.count > 1, let pair = item.mapping.flatMap(PatternReader.key) {
                    report(
                        "not-together", "`\(pair.name)` must be the only key under `on`", at: pair.key,
                        help: "write a second rule for the others")
                } else {
                    read(one: item)
                }
            }
        } else {
            read(one: node)
        }
    }

    private mutating func read(one node: Node) {
        switch node.content {
        case .scalar(let scalar): readType(scalar.text, node)
        case .mapping(let mapping): read(mapping, node)
        case .sequence: report("wrong-type", "`on` must be a list of event types, not of lists", at: node)
        }
    }

    private mutating func readType(_ text: String, _ node: Node) {
        let type = EventType(text)
        let definition = context.events[type]
        if definition?.canBeNamed == false {
            report(
                "wrong-value", "`schedule_due` needs a schedule in the rule", at: node,
                help: "write `on: {schedule: \"30 8 * * MON-FRI\"}`")
        } else if definition != nil {
            if triggers.contains(where: { $0.type == type && $0.changes.isEmpty }) {
                report("duplicate-event", "`\(text)` is named twice", at: node)
            } else {
                triggers.append(Trigger(type: type))
                places.append(EventReach.Place(type: type, node: node))
            }
        } else if text.isEmpty {
            report("wrong-type", "`on` names no event", at: node, help: listing)
        } else {
            let names = context.events.types.map(\.name)
            let times =
                RuleKeys.schedulesInWords[Self.plainWord(text)]
                ?? (["schedule", "cron"].contains(text) ? "30 8 * * MON-FRI" : nil)
            report(
                "unknown-event", "there is no event `\(text)`", at: node,
                help: times.map { "write `on: {schedule: \"\($0)\"}`" } ?? (text == "every" ? "write `on: {every: 15m}`" : nil)
                    ?? Self.list(text, of: names) ?? EventSuggestion.help(for: text, among: names) ?? listing)
        }
    }

    /// The advice for several types in one text, with commas or blanks between them.
    private static func list(_ text: String, of names: [String]) -> String? {
        let words = text.split { $0 == "," || $0 == " " }.map(String.init)
        return words.count > 1 && words.allSatisfy(names.contains) ? "write `on: [\(words.joined(separator: ", "))]`" : nil
    }

    /// `@daily` and `Daily` as `daily`.
    private static func plainWord(_ text: String) -> String { text.lowercased().replacing("@", with: "") }

    private var listing: String { "use " + context.events.nameable.map(\.type.name).quotedList }

    private mutating func read(_ mapping: Mapping, _ node: Node) {
        if PatternReader.key(in: mapping) != nil {
            readPattern(mapping, node)
        } else if mapping["schedule"] != nil {
            readSchedule(node)
        } else if mapping["every"] != nil {
            readEvery(node)
        } else if let pair = mapping.pairs.first, mapping.count == 1 {
            readChanges(pair, node)
        } else if mapping["task_changed"] != nil, let other = mapping.pairs.first(where: { $0.name != "task_changed" }) {
            report(
                "unknown-key", "the key `\(other.name)` is not allowed next to `task_changed`", at: other.key,
                help: RuleKeys.rule.contains { $0.name == other.name }
                    ? "write it beside `on`" : "write a list: each event begins with `- `")
        } else {
            report(
                "wrong-type", "this is not an event", at: node,
                help:
                    "write a type, `{task_changed: {field: {to: …}}}`, `{schedule: …}`, `{every: …}`, or `all`, `sequence` or `none`"
            )
        }
    }

    private mutating func readPattern(_ mapping: Mapping, _ node: Node) {
        var reader = PatternReader(file: file, context: context)
        pattern = reader.read(mapping, node)
        problems.report(reader.problems)
        for entry in (pattern?.entries ?? []) + (pattern?.after ?? []) {
            triggers += entry.trigger.triggers
            fields += entry.trigger.fields
            ends += entry.trigger.ends
        }
    }

    // MARK: Changes

    private mutating func readChanges(_ pair: Mapping.Pair, _ node: Node) {
        guard pair.name == EventType.taskChanged.name else {
            if context.events[EventType(pair.name)] != nil {
                report(
                    "wrong-type", "only `task_changed` takes conditions here", at: pair.key,
                    help: "write `on: \(pair.name)` and `when: …`")
            } else {
                report("unknown-key", "`on` has no setting `\(pair.name)`", at: pair.key, help: Self.meant(by: pair.name))
            }
            return
        }
        guard let fields = pair.value.mapping, !fields.isEmpty else {
            report(
                "wrong-type", "`task_changed` must be a mapping of fields here, not \(pair.value.kind)", at: pair.value,
                help: Self.changes(of: pair.value))
            return
        }
        places.append(EventReach.Place(type: .taskChanged, node: pair.key, isAlone: false))
        triggers.append(Trigger(type: .taskChanged, changes: fields.map { read(change: $0) }))
    }

    /// The advice for an unknown key under `on`.
    private static func meant(by key: String) -> String {
        switch key {
        case "cron", "crontab": return "write `schedule: \"30 8 * * MON-FRI\"`"
        case "at", "time", "time_of_day": return "write `schedule: \"30 8 * * *\"`: minute, hour, day, month, weekday"
        case "any", "any_of", "or": return "write the events as a list: `on: [task_created, task_changed]`"
        default: break
        }
        if let times = RuleKeys.schedulesInWords[plainWord(key)] { return "write `schedule: \"\(times)\"`" }
        let names = ["task_changed", "schedule", "every"] + RuleKeys.pattern.map(\.name)
        return Suggestion.didYouMean(key, among: names) ?? "use "
            + names.filter { !["after", "within", "by"].contains($0) }.quotedList
    }

    /// The advice for `task_changed: state` and `task_changed: [state, priority]`.
    private static func changes(of fields: Node) -> String {
        let names = (fields.items ?? [fields]).compactMap(\.scalarText).filter { !$0.isEmpty }
        if names.isEmpty { return "write `{task_changed: {state: {to: Resolved}}}`" }
        let each = names.map { "{task_changed: {\($0): {}}}" }
        return names.count == 1
            ? "write `\(each[0])` for any change of it"
            : "write `on: [\(each.joined(separator: ", "))]` for a change of any of them"
    }

    private mutating func read(change pair: Mapping.Pair) -> ChangeFilter {
        fields.append((pair.name, pair.key))
        // `{to: }` means the empty value; read as a setting, it would be a missing value.
        func values(_ name: String) -> [String]? {
            guard let node = pair.value[name] else { return nil }
            if node.isNull { return [""] }
            for one in node.items ?? [node] { one.scalarText.map { ends.append((pair.name, $0, one)) } }
            if let items = node.items, items.allSatisfy({ $0.scalar != nil }) {
                return items.map { $0.isNull ? "" : $0.scalarText ?? "" }
            }
            if let text = node.scalarText { return [text] }
            return refuse("wrong-type", "`\(name)` must be a value or a list of values, not \(node.kind)", at: node)
        }
        let filter = ChangeFilter(field: pair.name, from: values("from"), to: values("to"))
        if let mapping = pair.value.mapping {
            for other in mapping where other.name != "from" && other.name != "to" {
                report(
                    "unknown-key", "a change has no setting `\(other.name)`", at: other.key, help: "use `from`, `to` or both")
            }
        } else if !pair.value.isNull {
            report(
                "wrong-type", "the change of `\(pair.name)` must be a mapping, not \(pair.value.kind)", at: pair.value,
                help: pair.value.scalarText.map { "write `{to: \($0)}`" } ?? "write `{from: …, to: …}`")
        }
        return filter
    }

    // MARK: Schedules

    private mutating func readSchedule(_ node: Node) {
        let settings = self.settings(node, as: RuleKeys.schedule, of: "a schedule")
        guard let text = settings.text("schedule"), let written = node["schedule"] else { return }
        var zone = context.timeZone
        var zoneName = context.timeZoneName
        if let name = settings.text("timezone"), let place = node["timezone"] {
            if let found = context.zone(name) {
                zone = found
                zoneName = name
            } else {
                report(
                    "unknown-time-zone", "there is no time zone `\(name)`", at: place,
                    help: "write a name such as `Europe/Berlin`")
            }
        }
        do throws(TimeTextError) {
            let times = try CronSchedule(text)
            if let parts = times.eitherDayParts {
                let days = parts.weekdays.map(String.init)
                let wanted = days.count == 1 ? "== \(days[0])" : "in [\(days.joined(separator: ", "))]"
                warn(
                    "either-day", "this is due on each day \(parts.day) of the month, and also on each \(parts.weekday)",
                    at: written,
                    help: "for days that are both, write `\(parts.withoutWeekday)` and `when: now.getDayOfWeek(zone) \(wanted)`")
            }
            set(.cron(times), zone, zoneName, settings, node)
        } catch {
            if let times = RuleKeys.schedulesInWords[Self.plainWord(text)] {
                return report(
                    "bad-schedule", "a schedule has five fields: minute, hour, day, month, weekday", at: written,
                    help: "write `schedule: \"\(times)\"`")
            }
            let range = error.offset..<error.offset + error.length
            problems.report(
                Diagnostic(
                    code: "bad-schedule", error.message, at: Diagnostic.Place(written, utf8: range, file: file), help: error.help)
            )
        }
    }

    private mutating func readEvery(_ node: Node) {
        let settings = self.settings(node, as: RuleKeys.every, of: "`every`")
        guard let interval = settings.duration("every"), let written = node["every"] else { return }
        guard interval >= .seconds(1) else {
            return report("wrong-value", "a rule can run at most once a second", at: written)
        }
        set(.every(interval), context.timeZone, context.timeZoneName, settings, node)
    }

    private mutating func set(
        _ recurrence: RuleSchedule.Recurrence, _ zone: TimeZoneTable, _ zoneName: String, _ settings: Settings, _ node: Node
    ) {
        if schedule != nil {
            report("duplicate-event", "a rule can have only one schedule", at: node, help: "split it into two rules")
        }
        let missed = settings.text("missed").flatMap(RuleSchedule.Missed.init) ?? .once
        schedule = RuleSchedule(recurrence: recurrence, zone: zone, zoneName: zoneName, missed: missed)
        triggers.append(Trigger(type: .scheduleDue))
    }
}
