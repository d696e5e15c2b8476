import BellhopCore
import CEL

/// The values that rules' expressions read for one run: its event, its task, the time, the snapshots.
///
/// A class because the language asks for values one by one; made for one batch, used by one thread, moved from run to run.
final class RunFrame: Resolver {
    let facts: RunFacts
    private let batch: [StoredEvent]
    /// The batch, or the context's own events.
    private var events: [StoredEvent]
    /// The place of the run's event in `events`; negative for a run without an event.
    private var place = 0
    private var context: RunContext?
    /// The occasion of the batch's event if it is routed again.
    var replay: Occasion?
    /// The events since the previous run of the rule; nil unless the rule reads them.
    private var digest: Digest?
    /// When the runs are decided; nil while unknown.
    let now: Timestamp?
    private let snapshots: [Scope.ID: [Snapshot]]
    /// The list element being rendered.
    var element: Value?
    /// The texts of the expressions of steps that had no value; empty unless the rules were loaded to explain.
    private(set) var withoutValue: [String] = []

    private var isTaskRead = false
    private var taskMembers: JSON.Object?
    private var idMember = 0
    private var taskFields: JSON.Object?
    /// Where these were in the previous run: the task in its event, the fields in its task, and the value of each slot.
    private var taskMember = 0
    private var fieldsMember = 0
    private var members: [Int]
    private let taskKey = EventKey.task.rawValue

    init(_ facts: RunFacts, events: [StoredEvent], now: Timestamp? = nil, snapshots: [Scope.ID: [Snapshot]] = [:]) {
        self.facts = facts
        batch = events
        (self.events, self.now, self.snapshots) = (events, now, snapshots)
        members = Array(repeating: 0, count: facts.readers.count)
    }

    /// The run's event; nil for a run without one.
    var event: Event? { place < 0 ? nil : events[place].event }
    var sequence: Int64? { place < 0 ? nil : events[place].sequence }

    var occasion: Occasion { context?.occasion ?? replay ?? .event(events[place].event.id) }
    var source: String { context?.source ?? events[place].event.source }
    var subject: String { context?.subject ?? events[place].event.subject }
    /// How many writes of Bellhop led to the run, each causing the next.
    var hop: Int { context?.hop ?? events[place].event.hop }

    /// Moves to the run for an event of the batch.
    func move(to place: Int) {
        digest = nil
        if context != nil {
            context = nil
            events = batch
        }
        self.place = place
        forgetTask()
    }

    /// Moves to a run with a context of its own.
    func move(to context: RunContext) {
        digest = nil
        self.context = context
        events = context.events
        place = context.event ?? -1
        forgetTask()
    }

    /// Moves to the current run of another frame of the same batch.
    func move(to other: RunFrame) {
        if let context = other.context { move(to: context) } else { move(to: other.place) }
        digest = other.digest
    }

    /// Gives the run the events since the previous run of the rule.
    func give(_ digest: Digest) { self.digest = digest }

    func note(withoutValue expression: RuleExpression) {
        guard let text = expression.source?.text, !withoutValue.contains(text) else { return }
        withoutValue.append(text)
    }

    private func forgetTask() {
        guard isTaskRead else { return }
        isTaskRead = false
        taskMembers = nil
        taskFields = nil
    }

    var taskID: String? {
        readTask()
        guard case .string(let id)? = taskMembers?.value(of: "id", near: &idMember) else { return nil }
        return id.nonEmpty
    }

    /// The run's task, as deliveries name it.
    var reference: TaskReference? {
        guard let key = taskID, let task else { return nil }
        func text(_ name: String) -> String? { task[name]?.asString }
        return TaskReference(
            source: text("source") ?? source, key: TaskKey(key), number: text("number") ?? "", title: text("title") ?? "",
            className: text("class") ?? "", url: text("url") ?? "", subject: subject)
    }

    /// The fields of the run's own task, by their path in the record: a write can be conditional on them.
    func seen(of target: WriteTarget) throws(RenderFailure) -> JSON.Object {
        guard let task = snapshot, task.key == target.key else {
            throw RenderFailure("`unless_changed` works only on the event's own task, but this writes to another")
        }
        let schema = facts.schemas[source] ?? facts.assumed
        var seen: JSON.Object = [:]
        if let title = schema?.roles.title { seen[title] = .string(task.title) }
        // A task known only from the listing has no fields.
        if task.className.isEmpty { return seen }
        for (name, value) in task.fields where schema?.roles.bookkeeping.contains(name) != true {
            seen[schema?[name]?.path ?? name] = value
        }
        return seen
    }

    func value(of slot: Slot) -> Value? { value(ofSlot: slot.id) }

    func value(ofSlot id: Int) -> Value? { read(facts.readers[id], near: &members[id]) }

    /// A source that was never read has an unknown number of tasks, which is not zero.
    func reason(for slot: Slot) -> EvaluationError? {
        guard case .tasks(let group) = facts.readers[slot.id] else { return nil }
        let unread = group.sources.filter { snapshots[$0.scope] == nil }.map { "`\($0.name)`" }
        let names = unread.joined(separator: " and ")
        return unread.isEmpty ? nil : EvaluationError(.host, "the tasks of \(names) are not known: no poll has succeeded yet")
    }

    func read(_ reader: SlotReader) -> Value? {
        var member = 0
        return read(reader, near: &member)
    }

    /// - Parameter member: where the previous run had the value; set to where this one has it.
    func read(_ reader: SlotReader, near member: inout Int) -> Value? {
        switch reader {
        case .own(let name):
            guard let task else { return nil }
            if case .string(let text)? = task.value(of: name, near: &member) { return .string(text) }
            return .string("")
        case .field(let name, let type):
            readTask()
            guard taskMembers != nil else { return nil }
            let value = taskFields.flatMap { facts.types.value(of: name, in: $0, of: source, near: &member) }
            if let type = type ?? facts.types.type(of: name, in: source) { return Value(value, as: type) }
            return value.map { Value($0) } ?? .null
        case .label(let name):
            guard let task else { return nil }
            return task["labels"]?[name].map { Value($0) } ?? .null
        case .task: return object(snapshot)
        case .before: return object(data(.before).flatMap(Snapshot.init(json:)))
        case .changes:
            let (types, source) = (facts.types, source)
            let changes = ChangedFields(data(.changes)?.asObject ?? [:]) { types.value($0, of: $1, in: source) }
            return .map(Value.Map(changes))
        case .change(let field):
            guard data(.changes)?[field] != nil else { return .null }
            return nil
        case .changeEnd(let field, let end): return data(.changes)?[field].map { typed($0[end], field: field) } ?? .null
        case .comment:
            if case .object(let comment)? = data(.comment) { return .object(CommentObject(comment)) }
            return .null
        case .event: return event.map { .object(EventObject($0)) } ?? .null
        case .source: return .string(source)
        case .user(let first): return .string(data(.user)?.asString ?? facts.users[source] ?? first)
        case .now: return now.map { Value($0) }
        case .events: return .list(Value.List(gathered()))
        case .eventsMore: return .int(Int64(digest?.more ?? 0))
        case .key: return context?.key.map { .string($0) } ?? .null
        case .since: return context?.since.map { Value($0) } ?? .null
        case .answered: return .bool(context?.isAnswered == true)
        case .rule(let name), .zone(let name): return .string(name)
        case .tasks(let group): return taskList(group).map { .list(Value.List($0)) }
        case .element: return element
        case .follow: return nil
        }
    }

    /// A member of the event's data; nil for a run without an event.
    func data(_ key: EventKey) -> JSON? { place < 0 ? nil : events[place].event.data[key] }

    /// The run's task: its own, or the event's.
    var snapshot: Snapshot? { context?.task ?? data(.task).flatMap(Snapshot.init(json:)) }

    /// The members of the run's task; nil when it has none.
    private var task: JSON.Object? {
        readTask()
        return taskMembers
    }

    private func readTask() {
        guard !isTaskRead else { return }
        isTaskRead = true
        let json = context?.task?.json(source: source)
        guard
            case .object(let task)? = json
                ?? (place < 0 ? nil : events[place].event.data.value(of: taskKey, near: &taskMember))
        else { return }
        taskMembers = task
        if case .object(let fields)? = task.value(of: "fields", near: &fieldsMember) { taskFields = fields }
    }

    /// A field's value from elsewhere in the event, converted to the field's type.
    func typed(_ json: JSON?, field: String) -> Value { facts.types.value(json, of: field, in: source) }

    private func object(_ snapshot: Snapshot?) -> Value {
        snapshot.map { .object(TaskObject($0, source: source, types: facts.types, type: facts.anyTask)) } ?? .null
    }

    private func gathered() -> [Value] {
        if let digest { return digest.events.map { .object(GatheredEvent($0.event, nil, facts)) } }
        return events.dropLast(context?.hasSeparateEvent == true ? 1 : 0).enumerated().map { number, stored in
            .object(GatheredEvent(stored.event, context?.elements[number], facts))
        }
    }

    /// Nil when a source of the group was never read.
    private func taskList(_ group: TaskGroup) -> TaskList? {
        var parts: [(String, [Snapshot])] = []
        for source in group.sources {
            guard let known = snapshots[source.scope] else { return nil }
            parts.append((source.name, known))
        }
        return TaskList(parts, types: facts.types, type: group.type)
    }
}
