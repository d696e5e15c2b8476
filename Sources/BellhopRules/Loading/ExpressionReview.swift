import BellhopCore
import CEL

/// Looks for what an expression may say and hardly means: a comparison that never holds, one that a null decides, a clock of another zone.
struct ExpressionReview {
    private let names: RuleNames
    private let expression: CEL.Expression
    /// The parts of which the expression itself says what happens where they are null.
    private let guarded: Set<String>
    private var found: [Issue] = []

    /// What is worth a second look, in the order of the text.
    static func issues(in expression: CEL.Expression, _ names: RuleNames) -> [Issue] {
        var review = ExpressionReview(expression, names)
        review.visit(expression.root)
        return review.found
    }

    private init(_ expression: CEL.Expression, _ names: RuleNames) {
        self.names = names
        self.expression = expression
        var guarded: Set<String> = []
        Self.each(expression.root) { guarded.formUnion(Self.guarded(by: $0, of: expression.text)) }
        self.guarded = guarded
    }

    private static func each(_ node: CEL.Node, _ visit: (CEL.Node) -> Void) {
        visit(node)
        for child in node.kind.children { each(child, visit) }
    }

    private mutating func visit(_ node: CEL.Node) {
        switch node.kind {
        case .call("_==_", target: nil, let sides) where sides.count == 2:
            lookAtLabels(sides[0], [sides[1]], node)
            lookAtLabels(sides[1], [sides[0]], node)
        case .call("_!=_", target: nil, let sides) where sides.count == 2:
            lookAtLabels(sides[0], [sides[1]], node)
            lookAtLabels(sides[1], [sides[0]], node)
            lookAtNulls(sides, node)
        case .call("@in", target: nil, let sides) where sides.count == 2:
            if case .list(let elements) = sides[1].kind { lookAtLabels(sides[0], elements.map(\.value), node) }
        case .call("!_", target: nil, let operands) where operands.count == 1:
            switch operands[0].kind {
            case .call("_==_", target: nil, let sides) where sides.count == 2: lookAtNulls(sides, node)
            case .call("@in", target: nil, let sides) where sides.count == 2: lookAtNulls([sides[0]], node)
            default: break
            }
        case .call(let name, target: let target?, let arguments) where arguments.isEmpty: lookAtZone(name, of: target, node)
        case .call("changed", target: nil, _): lookAtChanges("changed()", "false", node.point)
        case .identifier("before", _): lookAtChanges("before", "null", node.range)
        case .identifier("changes", _): lookAtChanges("changes", "empty", node.range)
        default: break
        }
        for child in node.kind.children { visit(child) }
    }

    private mutating func report(_ code: String, _ message: String, at range: Range<Int>, help: String) {
        found.append(Issue(code: code, message: message, range: range, help: help))
    }

    private func text(_ node: CEL.Node) -> String { Self.text(node, of: expression.text) }

    private static func text(_ node: CEL.Node, of whole: String) -> String {
        let bytes = Array(whole.utf8)
        return String(decoding: bytes[node.range.clamped(to: 0..<bytes.count)], as: UTF8.self)
    }

    // MARK: Labels in the place of values

    /// Compares a field that holds an id, or the class, with a text that no such field ever holds.
    private mutating func lookAtLabels(_ field: CEL.Node, _ others: [CEL.Node], _ comparison: CEL.Node) {
        guard case .select(let owner, let name, _) = field.kind, isTask(owner) else { return }
        let wanted = others.compactMap { other -> String? in
            if case .literal(.string(let text)) = other.kind { text } else { nil }
        }
        if name == "class", !isFields(owner) {
            guard names.sources.allSatisfy({ ["", "tracker", "table"].contains($0.kind) }),
                let label = wanted.first(where: { !Self.mayBeTable($0) })
            else { return }
            return report(
                "label-not-class", "`\(text(field))` is the name of a table and never \"\(label)\"", at: comparison.range,
                help: "write `\(replaced(field, by: ".type", in: comparison))`, or the table's name, such as \"incident\"")
        }
        guard let source = names.sources.first(where: { $0.schema[name]?.holdsID == true }),
            let label = wanted.first(where: { !$0.isEmpty && !Self.isID($0) })
        else { return }
        let advice = "write `\(replaced(field, by: ".labels." + name, in: comparison))`"
        let needsLabels = !source.hasLabels && !names.types.isOpen
        report(
            "label-not-value", "`\(text(field))` holds an id and never \"\(label)\"", at: comparison.range,
            help: needsLabels ? "give source `\(source.name)` `display: both`, and \(advice)" : advice)
    }

    /// The comparison with the field under another name of its task.
    private func replaced(_ field: CEL.Node, by name: String, in comparison: CEL.Node) -> String {
        guard case .select(var owner, _, _) = field.kind else { return text(comparison) }
        if isFields(owner), case .select(let task, _, _) = owner.kind { owner = task }
        let bytes = Array(expression.text.utf8)
        let head = bytes[comparison.range.lowerBound..<field.range.lowerBound]
        let tail = bytes[field.range.upperBound..<comparison.range.upperBound]
        return String(decoding: head, as: UTF8.self) + text(owner) + name + String(decoding: tail, as: UTF8.self)
    }

    private func isTask(_ node: CEL.Node) -> Bool {
        switch expression.type(of: node) {
        case .object(names.types.task), .nullable(.object(names.types.task)): true
        default: isFields(node)
        }
    }

    private func isFields(_ node: CEL.Node) -> Bool { expression.type(of: node) == .object(names.types.fields) }

    private static func mayBeTable(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: "_") }
    }

    /// Whether a text can be a sys_id; some references hold other keys, which have no blank and no capital.
    private static func isID(_ text: String) -> Bool {
        let hasLetter = text.utf8.contains { ($0 | 0x20) &- UInt8(ascii: "a") < 26 }
        return text.utf8.count == 32 && !text.utf8.contains(UInt8(ascii: " ")) || !hasLetter
    }

    // MARK: Nulls

    /// `task.priority != 4` holds where the priority is null: somebody who says nothing of null may not know.
    private mutating func lookAtNulls(_ sides: [CEL.Node], _ node: CEL.Node) {
        if sides.contains(where: \.isNullLiteral) { return }
        guard let field = sides.first(where: { isNullable($0) && !guarded.contains(text($0)) }) else { return }
        let name = text(field)
        report(
            "null-not-equal", "this holds too where `\(name)` is null", at: node.range,
            help: "write `\(name) != null && \(text(node))`")
    }

    private func isNullable(_ node: CEL.Node) -> Bool {
        guard case .select(let owner, _, _) = node.kind, case .nullable(let inner) = expression.type(of: node) else {
            return false
        }
        switch inner {
        case .object: return false
        default: break
        }
        if case .object(names.types.labels) = expression.type(of: owner) { return true }
        return isTask(owner)
    }

    /// The parts that a comparison with null, `has` or an order speaks of.
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

    // MARK: What never is

    /// Only `task_changed` tells what was before.
    private mutating func lookAtChanges(_ name: String, _ value: String, _ range: Range<Int>) {
        guard !names.events.isEmpty, !names.events.contains(.taskChanged), names.events.contains(where: \.hasTask) else { return }
        let types = names.events.map { "`\($0.name)`" }.joined(separator: ", ")
        report(
            "never-changed", "`\(name)` is always \(value) on \(types)", at: range,
            help: "only `task_changed` tells what was before: write `on: task_changed`")
    }

    private static let partsOfDays: Set<String> = [
        "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours",
    ]

    /// `now.getHours()` is of UTC, whatever the rule's zone is.
    private mutating func lookAtZone(_ name: String, of target: CEL.Node, _ node: CEL.Node) {
        guard Self.partsOfDays.contains(name), !["UTC", "Etc/UTC", ""].contains(names.zone) else { return }
        switch expression.type(of: target) {
        case .timestamp, .nullable(.timestamp): break
        default: return
        }
        report(
            "utc-clock", "`\(text(node))` is by the clocks of UTC", at: node.range,
            help: "write `\(text(target)).\(name)(zone)`: `zone` is \(names.zone)")
    }
}

extension CEL.Node {
    fileprivate var isNullLiteral: Bool {
        if case .literal(.null) = kind { true } else { false }
    }
}
