import BellhopCore
import CEL

/// Finds the rules that may match an event: by its type, then by a value that a rule's condition requires.
///
/// Each rule is indexed by its most selective path, so that an event meets only rules that ask for its value.
struct RuleIndex: Sendable {
    /// The rules for one type of event.
    struct ByType: Sendable {
        /// Rules that no path can exclude.
        var always: [Int] = []
        var paths: [ByValue] = []
    }

    /// The rules that require one of a few values of a path.
    struct ByValue: Sendable {
        var reader: SlotReader
        var rules: [Value: [Int]]
    }

    private var types: [EventType: ByType] = [:]

    /// The rules for a type; nil when there are none.
    subscript(type: EventType) -> ByType? { types[type] }

    init(_ rules: [Rule], readers: [SlotReader]) {
        var byType: [EventType: [Int]] = [:]
        for (number, rule) in rules.enumerated() where !rule.isOff {
            for type in rule.summary.types { byType[type, default: []].append(number) }
        }
        types = byType.mapValues { numbers in Self.index(numbers, rules, readers) }
        for type in types.keys where type == .scheduleDue {
            types[type] = Self.schedules(byType[type] ?? [], rules)
        }
    }

    /// Events of a schedule concern only the rule that has it.
    private static func schedules(_ numbers: [Int], _ rules: [Rule]) -> ByType {
        let names = numbers.map { (Value.string(rules[$0].name), [$0]) }
        return ByType(paths: [ByValue(reader: .source, rules: Dictionary(uniqueKeysWithValues: names))])
    }

    private struct Choice {
        var path: String
        var reader: SlotReader
        var values: [Value]
    }

    private static func index(_ numbers: [Int], _ rules: [Rule], _ readers: [SlotReader]) -> ByType {
        let choices = numbers.map { Self.choices(rules[$0], readers) }
        var distinct: [String: Set<Value>] = [:]
        for choice in choices.joined() { distinct[choice.path, default: []].formUnion(choice.values) }
        var result = ByType()
        var places: [String: Int] = [:]
        for (number, choices) in zip(numbers, choices) {
            // Most selective: the path has many values among the rules, and this rule takes few of them.
            let best = choices.max { weight($0, distinct) < weight($1, distinct) }
            guard let best else {
                result.always.append(number)
                continue
            }
            let place = places[best.path] ?? result.paths.count
            if place == result.paths.count {
                places[best.path] = place
                result.paths.append(ByValue(reader: best.reader, rules: [:]))
            }
            for value in Set(best.values) { result.paths[place].rules[value, default: []].append(number) }
        }
        return result
    }

    private static func weight(_ choice: Choice, _ distinct: [String: Set<Value>]) -> Double {
        Double(distinct[choice.path]?.count ?? 0) / Double(max(1, choice.values.count))
    }

    private static func choices(_ rule: Rule, _ readers: [SlotReader]) -> [Choice] {
        var choices = (rule.condition?.equalities ?? []).compactMap { equality -> Choice? in
            guard equality.slot.scope.isEmpty, readers[equality.slot.id].isOfEvent else { return nil }
            return Choice(path: equality.slot.description, reader: readers[equality.slot.id], values: equality.values)
        }
        if !rule.sources.isEmpty {
            choices.append(Choice(path: "source", reader: .source, values: rule.sources.map(Value.string)))
        }
        return choices
    }
}

extension SlotReader {
    /// Whether the value is read from the event alone, and cheaply.
    var isOfEvent: Bool {
        switch self {
        case .own, .field, .label, .source, .changeEnd: true
        case .change, .task, .before, .comment, .changes, .event, .user, .now, .rule, .zone, .tasks, .element, .follow: false
        }
    }
}
