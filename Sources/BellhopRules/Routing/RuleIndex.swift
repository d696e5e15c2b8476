import BellhopCore
import CEL

/// Finds the rules that may match an event: by its type, then by a value that a rule's condition requires.
///
/// Each rule is indexed by its most selective path, so that an event is compared only with rules that require its value.
struct RuleIndex: Sendable {
    struct ByType: Sendable {
        /// Rules that no path can exclude.
        var always: [Int] = []
        /// Rules whose waits the event may end, even if their conditions do not hold.
        var waiting: [Int] = []
        var paths: [ByValue] = []
    }

    /// The rules that require one of a few values of a path.
    struct ByValue: Sendable {
        /// The path; nil for the event's source.
        var slot: Slot?
        var reader: SlotReader
        /// The rules by their texts, and by other values.
        private var byText: [String: [Int]] = [:]
        private var byOther: [Value: [Int]] = [:]

        init(slot: Slot?, reader: SlotReader) { (self.slot, self.reader) = (slot, reader) }

        subscript(value: Value) -> [Int]? {
            if case .string(let text) = value { byText[text] } else { byOther[value] }
        }

        /// Texts that are equal for Swift but differ in their bytes share an entry: the conditions, which compare bytes, decide.
        mutating func add(_ rule: Int, for value: Value) {
            if case .string(let text) = value {
                if byText[text]?.last != rule { byText[text, default: []].append(rule) }
            } else {
                byOther[value, default: []].append(rule)
            }
        }
    }

    private var types: [EventType: ByType] = [:]

    /// The rules for a type; nil when there are none.
    subscript(type: EventType) -> ByType? { types[type] }

    /// - Parameter types: the types of events that a rule with `for` watches, even if `on` does not name them.
    init(_ rules: [Rule], readers: [SlotReader], types all: [EventType]) {
        var byType: [EventType: [Int]] = [:]
        for (number, rule) in rules.enumerated() where !rule.isOff {
            let types = Set(rule.watchedTypes).union(rule.watchesAllEvents ? all : [])
            for type in types { byType[type, default: []].append(number) }
        }
        for (type, numbers) in byType {
            var index = Self.index(numbers, rules, type, readers)
            index.waiting = numbers.filter { rules[$0].watchesAllEvents && rules[$0].time.pattern == nil }
            types[type] = index
        }
        for type in types.keys where type == .scheduleDue { types[type] = Self.schedules(byType[type] ?? [], rules) }
    }

    /// A `schedule_due` event concerns only the rule that has the schedule.
    private static func schedules(_ numbers: [Int], _ rules: [Rule]) -> ByType {
        var path = ByValue(slot: nil, reader: .source)
        for number in numbers { path.add(number, for: .string(rules[number].name)) }
        return ByType(paths: [path])
    }

    private struct Choice {
        /// The slot of the path; nil for the event's source.
        var slot: Slot?
        var reader: SlotReader
        var values: [Value]
    }

    private static func index(_ numbers: [Int], _ rules: [Rule], _ type: EventType, _ readers: [SlotReader]) -> ByType {
        let choices = numbers.map { Self.choices(rules[$0], type, readers) }
        var distinct: [Int?: Set<Value>] = [:]
        for choice in choices.joined() { distinct[choice.slot?.id, default: []].formUnion(choice.values) }
        let counts = distinct.mapValues(\.count)
        var result = ByType()
        var places: [Int?: Int] = [:]
        for (number, choices) in zip(numbers, choices) {
            // Most selective: the path has many values among the rules, and this rule takes few of them.
            let best = choices.max { weight($0, counts) < weight($1, counts) }
            guard let best else {
                result.always.append(number)
                continue
            }
            let place = places[best.slot?.id] ?? result.paths.count
            if place == result.paths.count {
                places[best.slot?.id] = place
                result.paths.append(ByValue(slot: best.slot, reader: best.reader))
            }
            for value in best.values.count == 1 ? best.values : Array(Set(best.values)) {
                result.paths[place].add(number, for: value)
            }
        }
        return result
    }

    private static func weight(_ choice: Choice, _ distinct: [Int?: Int]) -> Double {
        Double(distinct[choice.slot?.id] ?? 0) / Double(max(1, choice.values.count))
    }

    private static func choices(_ rule: Rule, _ type: EventType, _ readers: [SlotReader]) -> [Choice] {
        // For a pattern, the rule's condition is evaluated only once the pattern is complete, so it excludes no single event.
        // But an absence begins only if the rule's condition holds.
        let appliesCondition = rule.time.pattern == nil || rule.beginsOnly(with: type)
        let equalities = appliesCondition ? rule.condition?.equalities : nil
        var choices = (equalities ?? []).compactMap { equality -> Choice? in
            guard equality.slot.scope.isEmpty, readers[equality.slot.id].isOfEvent else { return nil }
            return Choice(slot: equality.slot, reader: readers[equality.slot.id], values: equality.values)
        }
        let sources = rule.time.pattern?.sources ?? rule.sources
        if !sources.isEmpty { choices.append(Choice(slot: nil, reader: .source, values: sources.map(Value.string))) }
        return choices
    }
}

extension SlotReader {
    /// Whether the value is read from the event alone, and cheaply.
    var isOfEvent: Bool {
        switch self {
        case .own, .field, .label, .source, .changeEnd: true
        case .change, .task, .before, .comment, .changes, .event, .user, .now, .events, .eventsMore, .key, .since, .answered,
            .rule, .zone, .tasks, .element, .follow:
            false
        }
    }
}
