import BellhopCore
import YAML

/// Builds the data and tasks of events from a test.
struct TestFacts: ProblemCollector {
    let file: String
    let context: RuleContext
    var problems = Diagnostics()

    func facts(of source: String) -> RuleContext.SourceFacts {
        context.sources.first { $0.name == source } ?? context.assumedSource(source)
    }

    /// Any YAML value as JSON.
    mutating func json(_ node: Node) -> JSON? { value(node, as: Setting("data", .json, "")) }

    /// A task as a test writes it: its own names and its fields together.
    mutating func snapshot(_ node: Node, source: String, on base: Snapshot? = nil) -> Snapshot? {
        guard let mapping = node.mapping else {
            return refuse(
                "wrong-type", "a task must be a mapping, not \(node.kind)", at: node,
                help: "such as `{id: a1, number: INC0010021}`")
        }
        let facts = facts(of: source)
        let schema = facts.schema
        // A class marks the task as fully read; one without counts as known only from the listing.
        var task = base ?? Snapshot(key: "task", className: facts.taskClass)
        var given: Set<String> = []
        for pair in mapping {
            let text = pair.value.isNull ? "" : pair.value.scalarText ?? ""
            switch pair.name {
            case "id": task.key = TaskKey(text)
            case "number": task.number = text
            case "title": task.title = text
            case "type": task.type = text
            case "class": task.className = text
            case "url": task.url = text
            case "source": break
            case "labels": task.labels = json(pair.value)?.asObject ?? [:]
            case "fields":
                for field in pair.value.mapping?.pairs ?? [] {
                    task.fields[field.name] = self.field(field.name, field.value, at: field.key, schema)
                    given.insert(field.name)
                }
            default:
                task.fields[pair.name] = field(pair.name, pair.value, at: pair.key, schema)
                given.insert(pair.name)
            }
        }
        if base == nil, mapping["id"] == nil, !task.number.isEmpty { task.key = TaskKey(task.number) }
        let mirrored = [("number", task.number), (schema.roles.title, task.title), (schema.roles.className, task.className)]
        for case (let name?, let value) in mirrored where schema[name] != nil && !given.contains(name) {
            task.fields[name] = .string(value)
        }
        for field in schema.fields where task.fields[field.name] == nil {
            task.fields[field.name] = field.type == .text ? "" : .null
        }
        label(&task, on: mapping["labels"] == nil ? base : nil, given, source)
        return task
    }

    /// Drops the labels of values that were replaced, and labels empty values with an empty text, as a source does.
    private func label(_ task: inout Snapshot, on base: Snapshot?, _ given: Set<String>, _ source: String) {
        if let base {
            for name in given where task.fields[name] != base.fields[name] { task.labels[name] = nil }
        }
        let facts = facts(of: source)
        guard !context.isOpen, facts.labels == .yes else { return }
        for name in facts.schema.fields.map(\.name) where task.labels[name] == nil {
            if task.fields[name]?.plainText.isEmpty ?? true { task.labels[name] = "" }
        }
    }

    private mutating func field(_ name: String, _ node: Node, at key: Node, _ schema: TaskSchema) -> JSON {
        guard let declared = schema[name] ?? (name == Snapshot.created ? schema.created : nil) else {
            let names = schema.fields.map(\.name) + Snapshot.ownNames
            let help = Suggestion.didYouMean(name, among: names)
            let isOwn = context.isOpen && (help == nil || schema.isCustom(name))
            if !isOwn {
                report(
                    "unknown-field", "the source declares no field `\(name)`", at: key,
                    help: help ?? "declare it under `fields` of the source, if its tasks have it")
            }
            return json(node) ?? .null
        }
        if node.isNull { return declared.type == .text ? "" : .null }
        let value = json(node) ?? .null
        switch (declared.type, value) {
        case (.text, _): return .string(node.scalarText ?? value.text)
        case (.int, .int), (.double, .double), (.double, .int), (.bool, .bool): return value
        case (.timestamp, .string(let text)):
            if let moment = Timestamp(rfc3339: text) ?? Timestamp(sql: text) ?? Timestamp(sql: text + " 00:00:00") {
                return .string(moment.rfc3339)
            }
        default: break
        }
        let wanted =
            declared.type == .timestamp
            ? "a time such as 2026-01-05T09:00:00Z" : declared.type == .bool ? "`true` or `false`" : "a number"
        report("wrong-type", "`\(name)` must be \(wanted)", at: node)
        return .null
    }

    /// The members of an event as the test gives them, and the `code` of a login.
    mutating func data(_ event: EventDefinition, _ node: Node) -> JSON.Object {
        let misplaced = event.hasTask ? misplaced(in: node, event) : []
        var data = settings(node, as: TestKeys.members(of: event), of: "`\(event.type.name)`", besides: misplaced).values
        if event.isLogin, data[.code]?.asString?.nonEmpty == nil {
            // The most frequent reason.
            let code = event[.ok] == nil ? Failure.Reason.sessionExpired : data[.ok] == false ? .unauthenticated : nil
            data[.code] = .string(code?.rawValue ?? "")
        }
        return data
    }

    /// The keys that belong beside the event, or under its `task`. Reports the former; a missing `task` is reported later.
    private mutating func misplaced(in node: Node, _ event: EventDefinition) -> Set<String> {
        var found: Set<String> = []
        if let pair = node.mapping?.first(where: { $0.name == TestKeys.source.name }) {
            report(
                "unknown-key", "`source` belongs beside `\(event.type.name)`, not in it", at: pair.key,
                help: "write it on the next line, exactly below `\(event.type.name)`")
            found.insert(pair.name)
        }
        let sources = context.sources.isEmpty ? [context.assumedSource("")] : context.sources
        let names = Snapshot.ownNames + sources.flatMap { $0.schema.fields.map(\.name) }
        if node[.task] == nil { found.formUnion((node.mapping?.pairs ?? []).map(\.name).filter(names.contains)) }
        return found
    }

    /// The task of an event. Puts it into `data`, together with the members that follow from it.
    mutating func task(_ type: EventType, _ node: Node, _ data: inout JSON.Object, source: String) -> Snapshot? {
        guard let place = node[.task] else {
            let isFlat = node.mapping?.contains { Snapshot.ownNames.contains($0.name) } ?? false
            return refuse(
                "missing-key", "`\(type.name)` needs a task", at: node,
                help: isFlat ? "write `\(type.name): {task: {…}}`" : "add `task: {id: …}`")
        }
        guard let task = snapshot(place, source: source) else { return nil }
        var content = EventContent.taskCreated(task, in: source)
        switch type {
        case .taskRemoved:
            let reason = data[.reason]?.asString.flatMap(RemovalReason.init) ?? .closed
            content = .taskRemoved(task, reason, in: source)
        case .taskCommented:
            guard let comment = comment(node, on: task, source: source) else { return nil }
            content = comment
        case .taskChanged:
            let reported = problems.all.count
            guard let before = before(task, node, source: source) else { return nil }
            let ignored = facts(of: source).schema.roles.bookkeeping
            guard let changes = Change(from: before, to: task, ignoring: ignored)?.fields else {
                // A value that could not be read is no reason.
                if problems.all.count == reported {
                    report("wrong-value", "`before` and `task` are equal", at: node[.before] ?? node)
                }
                return nil
            }
            content = .taskChanged(task, before: before, changes, in: source)
        default: break
        }
        for (name, value) in content.data { data[name] = value }
        return task
    }

    /// An added comment: by default one by somebody else, visible to the customer.
    private mutating func comment(_ node: Node, on task: Snapshot, source: String) -> EventContent? {
        guard let place = node[.comment] else {
            return refuse("missing-key", "`task_commented` needs a comment", at: node, help: "add `comment: {text: …}`")
        }
        var reader = SettingsReader<Never>(file: file)
        let values = reader.settings(place, as: TestKeys.comment, of: "`comment`").values
        // Its problems were reported with those of the event.
        var time: Timestamp?
        if let text = values[.time]?.asString {
            time = Timestamp(rfc3339: text) ?? Timestamp(sql: text)
            if time == nil {
                return refuse("wrong-type", "`time` must be a time such as 2026-01-05T09:00:00Z", at: place[.time] ?? place)
            }
        }
        func text(_ key: EventKey) -> String { values[key]?.asString ?? "" }
        return .taskCommented(
            task, text(.text), author: text(.author), kind: text(.kind).nonEmpty ?? "comments", time: time,
            own: values[.own] == true, proved: values[.proved] != false, in: source)
    }

    /// The task before the change: the same except for `before` or `changes`.
    private mutating func before(_ task: Snapshot, _ node: Node, source: String) -> Snapshot? {
        if let place = node[.before] { return snapshot(place, source: source, on: task) }
        guard let changes = node[.changes]?.mapping else {
            return refuse(
                "missing-key", "`task_changed` needs the earlier state", at: node, help: "add, for example, `before: {state: 1}`")
        }
        let schema = facts(of: source).schema
        var before = task
        var given: Set<String> = []
        for pair in changes {
            if let to = pair.value[.to] { review(to, pair, of: task, schema) }
            guard let from = pair.value[.from] else { continue }
            let text = from.isNull ? "" : from.scalarText ?? ""
            switch pair.name {
            case "number": before.number = text
            case "title": before.title = text
            case "class": before.className = text
            default:
                before.fields[pair.name] = field(pair.name, from, at: pair.key, schema)
                given.insert(pair.name)
            }
        }
        label(&before, on: task, given, source)
        return before
    }

    /// Reports a value of `to` that the task does not have.
    private mutating func review(_ to: Node, _ pair: Mapping.Pair, of task: Snapshot, _ schema: TaskSchema) {
        let own = ["number": task.number, "title": task.title, "class": task.className][pair.name]
        guard own != nil || schema[pair.name] != nil else { return }
        let wanted = own == nil ? field(pair.name, to, at: pair.key, schema) : .string(to.isNull ? "" : to.scalarText ?? "")
        let found = own.map(JSON.string) ?? task.fields[pair.name] ?? .null
        if wanted == found { return }
        report(
            "wrong-value", "`task` has `\(pair.name)` \(found.text), not \(wanted.text)", at: to,
            help: "give the new value in `task`; `from` is enough here")
    }
}

extension Node {
    /// The value that a test gives for a member of an event.
    subscript(key: EventKey) -> Node? { self[key.rawValue] }
}
