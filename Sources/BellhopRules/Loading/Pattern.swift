import BellhopCore
import CEL

/// `on: {all}`, `{sequence}` or `{none}`: several events that must come within a time, or none of them.
struct Pattern: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case all, sequence, none
    }

    /// One of the events: a type, a change of fields, a list of these, or either with a condition and sources of its own.
    struct Entry: Sendable {
        /// Any of them fits.
        var triggers: [Trigger]
        var condition: RuleExpression?
        /// The sources whose events count, its own or the rule's; empty for all.
        var sources: [String]

        /// Whether the event fits, judged by its type, its changes and its source.
        func accepts(_ event: Event) -> Bool {
            (sources.isEmpty || sources.contains(event.source))
                && triggers.contains { $0.type == event.type && $0.accepts(event) }
        }

        /// Whether an event at which the activation stands fits, with its condition.
        func fits(_ event: Event, _ activation: Activation) -> Bool {
            guard accepts(event) else { return false }
            guard let condition else { return true }
            return if case .yes = condition.program.verdict(activation) { true } else { false }
        }
    }

    let kind: Kind
    /// The events that must come; of `none` those that end the absence.
    let entries: [Entry]
    /// The events that begin an absence.
    let after: [Entry]
    let within: Span
    /// Nil for all together.
    let by: RuleExpression?
    /// Whether the key is `task.id`, or `source`.
    var isByTask = false
    var isBySource = false
    /// The sources and connections that an absence without `after` watches.
    var watched: [String] = []
    /// What the conditions of its entries read that is known only at routing.
    let needs: RuleExpression.Needs

    init(kind: Kind, entries: [Entry], after: [Entry], within: Span, by: RuleExpression?) {
        (self.kind, self.entries, self.after, self.within, self.by) = (kind, entries, after, within, by)
        needs = (entries + after).reduce(into: []) { $0.formUnion($1.condition?.needs ?? []) }
    }

    /// Whether the absence begins with the rule.
    var beginsByItself: Bool { kind == .none && after.isEmpty }
    /// Whether a task that leaves ends the absence that it began.
    var endsWithTask: Bool { kind == .none && !after.isEmpty }

    /// The part of the rule's state that keeps the events so far.
    var state: StateKey.Kind { kind == .none ? .absence : .match }

    func accepts(_ event: Event) -> Bool { entries.contains { $0.accepts(event) } || after.contains { $0.accepts(event) } }

    /// Whether an event at which the activation stands fits one of the entries, with its condition.
    func fits(_ event: Event, _ activation: Activation) -> Bool {
        (entries + after).contains { $0.fits(event, activation) }
    }

    /// The sources whose events it looks at; empty for all.
    var sources: [String] {
        let all = (entries + after).map(\.sources)
        return all.contains(where: \.isEmpty) ? [] : Array(Set(all.joined())).sorted()
    }

    /// The most events, or sequences under way, that wait for others under one key.
    static let mostWaiting = 1000
}
