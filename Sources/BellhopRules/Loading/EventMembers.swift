import BellhopCore
import CEL

/// The declared members of `event.data`, or of an object in it, to which a part of an expression refers.
struct EventMembers {
    private let path: [String]
    private let events: [EventDefinition]
    private var members: [Setting]

    /// Nil if the part refers to neither, or to an object that may have undeclared members.
    init?(of node: CEL.Node, _ events: [EventDefinition]) {
        guard !events.isEmpty, !events.contains(where: \.isOpen), let path = Self.path(of: node),
            path.starts(with: ["event", "data"])
        else { return nil }
        (self.path, self.events) = (path, events)
        members = events.flatMap(\.members)
        for name in path.dropFirst(2) {
            var inner: [Setting] = []
            for member in members where member.name == name {
                guard case .record(let its) = member.type else { return nil }
                inner += its
            }
            members = inner
        }
        if members.isEmpty { return nil }
    }

    private static func path(of node: CEL.Node) -> [String]? {
        switch node.kind {
        case .identifier(let name, _): [name]
        case .select(let operand, let field, _): path(of: operand).map { $0 + [field] }
        default: nil
        }
    }

    /// The issue to report if no event of the rule has the member; otherwise nil.
    func issue(_ name: String, at range: Range<Int>) -> Issue? {
        if members.contains(where: { $0.name == name }) { return nil }
        let known = members.map(\.name).unique()
        let types = Set(events.map { "`\($0.type.name)`" }).sorted().joined(separator: ", ")
        return Issue(
            "unknown-field", "`\(path.joined(separator: "."))` of \(types) has no `\(name)`", at: range,
            help: Suggestion.didYouMean(name, among: known) ?? "use " + known.quotedList)
    }

    /// The type of a member, such as `event.data.ok`; nil if it is not declared, or not the same in all events of the rule.
    static func type(of node: CEL.Node, _ events: [EventDefinition]) -> SettingType? {
        guard case .select(let owner, let name, _) = node.kind, let data = EventMembers(of: owner, events) else { return nil }
        let types = Set(data.members.filter { $0.name == name }.map(\.type))
        return types.count == 1 ? types.first : nil
    }
}

extension ExpressionReview {
    /// Warns if a member of an event or of its data is compared with a constant that it can never equal.
    mutating func checkMember(_ member: CEL.Node, _ others: [CEL.Node], _ comparison: CEL.Node) {
        guard let type = EventMembers.type(of: member, names.events) ?? choices(of: member) else { return }
        for other in others {
            guard case .literal(let constant) = other.kind, let help = type.exclusion(of: constant) else { continue }
            return report("never-equal", "`\(text(member))` is never \(text(other))", at: comparison.range, help: help)
        }
    }

    /// The values that the type or the source of an event, the source of a task, or the kind of a comment can have; nil if unknown.
    private func choices(of node: CEL.Node) -> SettingType? {
        if case .identifier("source", _) = node.kind, expression.type(of: node) == .string { return sourcesOfEvents }
        guard case .select(let owner, let name, _) = node.kind else { return nil }
        func isObject(_ type: ObjectType) -> Bool {
            [.object(type), .nullable(.object(type))].contains(expression.type(of: owner))
        }
        if isObject(CommentObject.type) { return EventCatalogue.comment.first { $0.name == name }?.type }
        switch name {
        case "type" where isObject(EventObject.type):
            return names.events.isEmpty || names.events.contains(where: \.isOpen) ? nil : .oneOf(names.events.map(\.type.name))
        case "source" where isObject(EventObject.type): return sourcesOfEvents
        case "source" where isObject(names.types.task): return sources
        default: return nil
        }
    }

    /// Other events have a connection or a rule as their source.
    private var sourcesOfEvents: SettingType? {
        !names.events.isEmpty && names.events.allSatisfy { $0.hasTask && !$0.isOpen } ? sources : nil
    }

    private var sources: SettingType? {
        names.sources.isEmpty || names.types.isOpen ? nil : .oneOf(names.sources.map(\.name))
    }
}

extension SettingType {
    /// A description of the values of this type, if none of them can be this constant; otherwise nil.
    fileprivate func exclusion(of constant: Value) -> String? {
        switch (self, constant) {
        case (_, .null), (.text, .string), (.boolean, .bool), (.integer, .int), (.integer, .uint), (.integer, .double): nil
        case (.oneOf(let names), .string(let text)):
            names.contains(text)
                ? nil
                : Suggestion.didYouMean(text, among: names)
                    ?? "it is one of " + names.filter { !$0.isEmpty }.quotedList
        case (.text, _), (.oneOf, _): "it is a text"
        case (.boolean, _): "it is `true` or `false`"
        case (.integer, _): "it is a number"
        default: nil
        }
    }
}
