import BellhopCore
import CEL

/// Warns about valid expressions that are probably mistakes: comparisons that never hold, contradict each other or depend on a null,
/// UTC clocks.
struct ExpressionReview {
    let names: RuleNames
    let expression: CEL.Expression
    /// The parts whose null case the expression itself handles.
    private lazy var guarded = guardedParts()
    /// Which texts are labels and never values, and who reads labels.
    let labels: LabelFacts
    /// Whether missing labels were already reported: once is enough.
    var hasReportedLabels = false
    /// Whether a setting would turn labels on.
    private let mayLackLabels: Bool
    private var found: [Issue] = []

    /// Probable mistakes, in the order of the text.
    static func issues(in expression: CEL.Expression, _ names: RuleNames) -> [Issue] {
        var review = ExpressionReview(expression, names)
        review.visit(expression.root)
        return review.found
    }

    private init(_ expression: CEL.Expression, _ names: RuleNames) {
        (self.names, self.expression) = (names, expression)
        labels = LabelFacts(sources: names.sources, isOpen: names.types.isOpen)
        mayLackLabels = labels.without?.labels.missingLine != nil
    }

    /// Computed only when a comparison needs it, which is rare.
    private func guardedParts() -> Set<String> {
        var guarded: Set<String> = []
        Self.each(expression.root) { guarded.formUnion(Self.guarded(by: $0, of: expression.text)) }
        return guarded
    }

    private static func each(_ node: CEL.Node, _ visit: (CEL.Node) -> Void) {
        visit(node)
        for child in node.kind.children { each(child, visit) }
    }

    private mutating func visit(_ node: CEL.Node) {
        switch node.kind {
        case .call(let name, target: nil, let sides) where ["_==_", "_!=_"].contains(name) && sides.count == 2:
            checkConstants(sides[0], [sides[1]], node)
            checkConstants(sides[1], [sides[0]], node)
            if name == "_!=_" { checkNulls(sides, node) }
        case .call("@in", target: nil, let sides) where sides.count == 2:
            if case .list(let elements) = sides[1].kind { checkConstants(sides[0], elements.map(\.value), node) }
        case .call("!_", target: nil, let operands) where operands.count == 1:
            switch operands[0].kind {
            case .call("_==_", target: nil, let sides) where sides.count == 2: checkNulls(sides, node)
            case .call("@in", target: nil, let sides) where sides.count == 2: checkNulls([sides[0]], node)
            default: break
            }
        case .call(let name, target: let target?, let arguments) where arguments.isEmpty: checkZone(name, of: target, node)
        case .call("changed", target: nil, let arguments):
            checkChanges("changed()", "false", node.point)
            checkChangedValues(arguments, node)
        case .select(let owner, _, _), .has(let owner, _, _):
            if isLabels(owner) { reportMissingLabels(node, "null") }
        case .and(let left, let right): checkNeverTrue(left, right)
        case .or(let left, let right): checkAlwaysTrue(left, right)
        case .identifier("before", _): checkChanges("before", "null", node.range)
        case .identifier("changes", _): checkChanges("changes", "empty", node.range)
        case .identifier("user", _): checkUser(node)
        default: break
        }
        if mayLackLabels, case .call = node.kind, expression.type(of: node) == .bool { checkLabelCalls(node) }
        for child in node.kind.children { visit(child) }
    }

    private mutating func checkConstants(_ part: CEL.Node, _ others: [CEL.Node], _ comparison: CEL.Node) {
        checkLabels(part, others, comparison)
        checkMember(part, others, comparison)
    }

    /// In a condition, a `label()` that returns only the value is a mistake; in a text it is intended.
    private mutating func checkLabelCalls(_ node: CEL.Node) {
        if case .call("label", target: nil, _) = node.kind { reportMissingLabels(node, "the value") }
        for child in node.kind.children { checkLabelCalls(child) }
    }

    mutating func report(_ code: String, _ message: String, at range: Range<Int>, help: String) {
        found.append(Issue(code, message, at: range, help: help))
    }

    func text(_ node: CEL.Node) -> String { Self.text(node, of: expression.text) }

    private static func text(_ node: CEL.Node, of whole: String) -> String {
        let bytes = Array(whole.utf8)
        return String(decoding: bytes[node.range.clamped(to: 0..<bytes.count)], as: UTF8.self)
    }

    // MARK: Nulls

    /// `task.priority != 4` holds if the priority is null, which an author who does not mention null may not expect.
    private mutating func checkNulls(_ sides: [CEL.Node], _ node: CEL.Node) {
        if sides.contains(where: \.isNullLiteral) { return }
        let nullable = sides.filter(isNullable)
        guard !nullable.isEmpty, let field = nullable.first(where: { !guarded.contains(text($0)) }) else { return }
        let name = text(field)
        report(
            "null-not-equal", "this is also true if `\(name)` is null", at: node.range,
            help: "write `\(name) != null && \(text(node))`")
    }

    private func isNullable(_ node: CEL.Node) -> Bool {
        guard case .select(let owner, _, _) = node.kind, case .nullable(let inner) = expression.type(of: node) else {
            return false
        }
        if case .object = inner { return false }
        return isLabels(owner) || isTask(owner)
    }

    /// The parts that a comparison with null, `has` or an order refers to.
    private static func guarded(by node: CEL.Node, of whole: String) -> [String] {
        switch node.kind {
        case .call("_==_", target: nil, let sides), .call("_!=_", target: nil, let sides):
            return sides.contains(where: \.isNullLiteral) ? sides.map { text($0, of: whole) } : []
        case .call("_<_", target: nil, let sides), .call("_<=_", target: nil, let sides), .call("_>_", target: nil, let sides),
            .call("_>=_", target: nil, let sides):
            return sides.map { text($0, of: whole) }
        case .has(let owner, let field, _): return [text(owner, of: whole) + "." + field]
        default: return []
        }
    }

    // MARK: Changes and clocks

    /// Only `task_changed` has the earlier values.
    private mutating func checkChanges(_ name: String, _ value: String, _ range: Range<Int>) {
        guard !names.events.isEmpty, !names.events.contains(where: { $0[.changes] != nil }),
            names.events.contains(where: \.hasTask)
        else { return }
        let types = names.events.map(\.type.name).quotedList
        report(
            "never-changed", "`\(name)` is always \(value) on \(types)", at: range,
            help: "only `task_changed` has earlier values: write `on: task_changed`")
    }

    /// `user` is a substitute, such as `(api key of snow)`, until the system tells whose login it is.
    private mutating func checkUser(_ node: CEL.Node) {
        guard names.events.isEmpty || names.events.contains(where: \.hasTask),
            let source = names.sources.first(where: { !$0.isUserKnown })
        else { return }
        report(
            "unknown-user",
            "the user of `\(source.name)` is not known, so `user` is \(source.user.isEmpty ? "empty" : "`\(source.user)`")",
            at: node.range,
            help: source.user.isEmpty
                ? "write the name itself"
                : "the agent learns it at its first login, or write `username` under `auth` of the connection")
    }

    private static let partsOfDays: Set<String> = [
        "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours",
    ]

    /// `now.getHours()` is in UTC, whatever the rule's zone.
    private mutating func checkZone(_ name: String, of target: CEL.Node, _ node: CEL.Node) {
        guard Self.partsOfDays.contains(name), !["UTC", "Etc/UTC", ""].contains(names.zone),
            [.timestamp, .nullable(.timestamp)].contains(expression.type(of: target))
        else { return }
        report(
            "utc-clock", "`\(text(node))` is in UTC", at: node.range,
            help: "write `\(text(target)).\(name)(zone)`: `zone` is \(names.zone)")
    }
}

extension CEL.Node {
    fileprivate var isNullLiteral: Bool { if case .literal(.null) = kind { true } else { false } }
}
