import BellhopCore
import CEL

/// `on: {all}`, `{sequence}` or `{none}`: several events that must come within a time, or none of them.
struct Pattern: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case all, sequence, none
    }

    /// One of the events: a type, a change of fields, a list of these, or either with a condition and sources of its own.
    struct Entry: Sendable {
        /// The alternatives; the event must fit one of them.
        var triggers: [Trigger]
        var condition: RuleExpression?
        /// The sources whose events count: those of the entry, or else those of the rule; empty for all.
        var sources: [String]

        /// Whether the event fits, judged by its type, its changes and its source.
        func accepts(_ event: Event) -> Bool {
            (sources.isEmpty || sources.contains(event.source)) && acceptsFromAnySource(event)
        }

        func acceptsFromAnySource(_ event: Event) -> Bool {
            triggers.contains { $0.type == event.type && $0.accepts(event) }
        }

        /// Whether the activation's current event fits the entry and its condition.
        func fits(_ event: Event, _ activation: Activation) -> Bool {
            guard accepts(event) else { return false }
            guard let condition else { return true }
            return if case .yes = condition.program.verdict(activation) { true } else { false }
        }
    }

    let kind: Kind
    /// The events that must come; for `none`, the events that end the absence.
    let entries: [Entry]
    /// The events that begin an absence.
    let after: [Entry]
    let within: Span
    /// The key that the events must share; nil if all events belong together.
    let by: RuleExpression?
    /// Whether the key is `task.id`, or `source`.
    var isByTask = false
    var isBySource = false
    /// The sources and connections that an absence without `after` watches.
    var watched: [String] = []
    /// The facts that the conditions of its entries read and that are known only at routing.
    let needs: RuleExpression.Needs
    /// The types that the entries name.
    private let types: Set<EventType>

    init(kind: Kind, entries: [Entry], after: [Entry], within: Span, by: RuleExpression?) {
        (self.kind, self.entries, self.after, self.within, self.by) = (kind, entries, after, within, by)
        types = Set(entries.flatMap(\.triggers).map(\.type))
        needs = (entries + after).reduce(into: []) { $0.formUnion($1.condition?.needs ?? []) }
    }

    var beginsByItself: Bool { kind == .none && after.isEmpty }
    /// Whether an absence that a task began ends when that task leaves its source.
    var endsWithTask: Bool { kind == .none && !after.isEmpty }
    /// Whether a task that leaves may have begun an absence under another key than its id.
    var needsBegun: Bool { endsWithTask && by != nil && !isByTask }

    /// The sources and connections whose events end each absence, apart from those whose events may have begun it.
    var sourcesEndingAbsences: [String] {
        if kind != .none { return [] }
        if beginsByItself { return isBySource ? [] : watched }
        let beginning = after.map(\.sources)
        if beginning.contains(where: \.isEmpty) { return [] }
        return Set(entries.flatMap(\.sources)).subtracting(beginning.joined()).sorted()
    }

    /// The entries whose events a run needs.
    var needed: [Entry] { kind == .none ? after : entries }

    /// Whether events of this type never end an absence, and begin one only if the rule's condition holds.
    func beginsOnly(with type: EventType) -> Bool { endsWithTask && type != .taskRemoved && !types.contains(type) }

    /// Whether the current event of the activation's frame may begin an absence.
    func begins(with event: Event, _ activation: Activation) -> Bool {
        endsWithTask && after.contains { $0.fits(event, activation) }
    }

    /// The kind of state that holds the events so far.
    var state: StateKey.Kind { kind == .none ? .absence : .match }

    func accepts(_ event: Event) -> Bool { entries.contains { $0.accepts(event) } || after.contains { $0.accepts(event) } }

    /// Whether only the source of the event does not fit.
    func acceptsElsewhere(_ event: Event) -> Bool {
        !accepts(event) && (entries + after).contains { $0.acceptsFromAnySource(event) }
    }

    /// Whether the activation's current event fits one of the entries and its condition.
    func fits(_ event: Event, _ activation: Activation) -> Bool {
        (entries + after).contains { $0.fits(event, activation) }
    }

    /// The sources whose events can fit; empty for all.
    var sources: [String] {
        let all = (entries + after).map(\.sources)
        return all.contains(where: \.isEmpty) ? [] : Array(Set(all.joined())).sorted()
    }

    /// The most events, or sequences under way, that wait for others under one key.
    static let maxWaiting = 1000
}
