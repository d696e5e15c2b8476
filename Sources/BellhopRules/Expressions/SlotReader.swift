import BellhopCore
import CEL

/// A fast path to a value that expressions read, resolved when the rules are loaded.
///
/// Indirect: a reader is taken from a table for each value, and copying a box is cheaper than copying names.
indirect enum SlotReader: Sendable {
    /// A field that every task has: `task.number`.
    case own(String)
    /// A declared field: `task.priority`, `task.fields.url`. The type is nil if it depends on the source.
    case field(String, FieldType?)
    /// `task.labels.state`
    case label(String)
    /// `changes.state`, null unless it changed
    case change(String)
    /// `changes.state.to`
    case changeEnd(String, String)
    case task, before, changes, comment, event, source, now
    /// The events that a rule waited for, counted or gathered.
    case events, key, since
    /// Whether the task of an escalation was answered.
    case answered
    /// How many events since the previous run of the rule are not among `events`.
    case eventsMore
    /// The user of the event, else of the rule's first source.
    case user(String)
    case rule(String)
    /// The rule's time zone.
    case zone(String)
    /// The tasks of a rule's sources.
    case tasks(TaskGroup)
    /// The list element that `item` is rendered for.
    case element
    /// No fast path: the fields are followed from the variable's value.
    case follow

    init(_ slot: Slot, types: FieldTypes, groups: [String: TaskGroup]) {
        switch (slot.variable, slot.path.count) {
        case ("task", 0): self = .task
        case ("task", 1): self = Self.taskField(slot.path[0], types)
        case ("task", 2) where slot.path[0] == "fields": self = .field(slot.path[1], types.type(of: slot.path[1]))
        case ("task", 2) where slot.path[0] == "labels": self = .label(slot.path[1])
        case ("before", 0): self = .before
        case ("changes", 0): self = .changes
        case ("changes", 1): self = .change(slot.path[0])
        case ("changes", 2): self = .changeEnd(slot.path[0], slot.path[1])
        case ("comment", 0): self = .comment
        case ("event", 0): self = .event
        case ("source", 0): self = .source
        case ("user", 0): self = .user(groups[slot.scope]?.user ?? "")
        case ("now", 0): self = .now
        case ("events", 0): self = .events
        case ("events_more", 0): self = .eventsMore
        case ("key", 0): self = .key
        case ("since", 0): self = .since
        case ("answered", 0): self = .answered
        case ("rule", 0): self = .rule(slot.scope)
        case ("zone", 0): self = .zone(slot.scope)
        case ("tasks", 0): self = groups[slot.scope].map(SlotReader.tasks) ?? .follow
        case (let name, 0) where SnapshotFunction.source(ofVariable: name) != nil:
            self = groups[slot.scope].map(SlotReader.tasks) ?? .follow
        case (_, 0) where slot.scope.hasPrefix(Self.elementScope): self = .element
        default: self = .follow
        }
    }

    private static func taskField(_ name: String, _ types: FieldTypes) -> SlotReader {
        switch name {
        case "labels", "fields": .follow
        default: Snapshot.ownNames.contains(name) ? .own(name) : .field(name, types.type(of: name))
        }
    }

    /// The prefix of the scopes of element variables; rule names have no slash.
    static let elementScope = "element/"
}

/// The sources whose tasks a rule sees as `tasks`, with the type its expressions were checked against.
struct TaskGroup: Sendable {
    var sources: [(name: String, scope: Scope.ID)]
    /// The user of the first of them.
    var user: String
    var type: ObjectType
}
