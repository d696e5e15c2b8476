import BellhopCore
import CEL

/// Labels used as values, and labels that no source reads.
extension ExpressionReview {
    /// Warns if a field with an id, a choice's value or the class is compared with a text that it can never equal.
    mutating func checkLabels(_ field: CEL.Node, _ others: [CEL.Node], _ comparison: CEL.Node) {
        guard case .select(let owner, let name, _) = field.kind, isTask(owner) else { return }
        let wanted = others.compactMap { other in other.textLiteral.map { (text: $0, node: other) } }
        if name == "class", !isFields(owner) {
            guard names.sources.allSatisfy({ $0.labels != .no }),
                let label = wanted.first(where: { !Self.mayBeTable($0.text) })
            else { return }
            return report(
                "label-not-class", "`\(text(field))` is the name of a table and never \"\(label.text)\"", at: comparison.range,
                help: "write `\(renamed(field, ".type", in: comparison))`, or the table's name, such as \"incident\"")
        }
        guard let mismatch = labels.mismatch(among: wanted.map(\.text), in: name) else { return }
        let source = mismatch.source
        let byLabel = "write `\(renamed(field, ".labels." + name, in: comparison))`"
        let advice = source.labels.missingLine.map { "set `\($0)` on source `\(source.name)`, and \(byLabel)" } ?? byLabel
        switch mismatch.reason {
        case .holdsNumber: return  // The checker refuses the comparison.
        case .holdsID:
            report(
                "label-not-value", "`\(text(field))` holds an id and never \"\(mismatch.text)\"", at: comparison.range,
                help: advice)
        case .isLabel(let values):
            let literal = wanted.first { $0.text == mismatch.text }?.node
            let byValue = literal.map { "write `\(replaced($0.range, by: "\"\(values[0])\"", in: comparison))`, or " } ?? ""
            report(
                "label-not-value", "`\(text(field))` is never \"\(mismatch.text)\", which is the label of \"\(values[0])\"",
                at: comparison.range, help: byValue + advice)
        }
    }

    /// `changed("state", "New", "Resolved")` matches labels only if there are labels.
    mutating func checkChangedValues(_ arguments: [CEL.Node], _ node: CEL.Node) {
        guard arguments.count == 3, let name = arguments[0].textLiteral,
            let mismatch = labels.withoutLabels.mismatch(among: arguments.dropFirst().compactMap(\.textLiteral), in: name)
        else { return }
        var help = LabelFacts.setting(for: mismatch.source)
        if case .isLabel(let values) = mismatch.reason { help += ", or write `\(values[0])` for \"\(mismatch.text)\"" }
        report(
            "no-labels", "`\(name)` is never \"\(mismatch.text)\": source `\(mismatch.source.name)` reads no labels",
            at: node.range, help: help)
    }

    /// Reports the first label in the expression, if the sources read no labels.
    ///
    /// - Parameter instead: what the expression gets instead of the label.
    mutating func reportMissingLabels(_ node: CEL.Node, _ instead: String) {
        guard !hasReportedLabels, let source = labels.without else { return }
        hasReportedLabels = true
        report(
            "no-labels", "`\(text(node))` is always \(instead): source `\(source.name)` reads no labels", at: node.range,
            help: LabelFacts.setting(for: source))
    }

    // MARK: The text

    private func renamed(_ field: CEL.Node, _ name: String, in comparison: CEL.Node) -> String {
        guard case .select(var owner, _, _) = field.kind else { return text(comparison) }
        if isFields(owner), case .select(let task, _, _) = owner.kind { owner = task }
        return replaced(field.range, by: text(owner) + name, in: comparison)
    }

    private func replaced(_ part: Range<Int>, by words: String, in comparison: CEL.Node) -> String {
        let bytes = Array(expression.text.utf8)
        let head = bytes[comparison.range.lowerBound..<part.lowerBound]
        let tail = bytes[part.upperBound..<comparison.range.upperBound]
        return String(decoding: head, as: UTF8.self) + words + String(decoding: tail, as: UTF8.self)
    }

    // MARK: Tasks

    func isTask(_ node: CEL.Node) -> Bool { mayBe(names.types.task, node) || isFields(node) }

    private func isFields(_ node: CEL.Node) -> Bool { expression.type(of: node) == .object(names.types.fields) }

    func isLabels(_ node: CEL.Node) -> Bool { mayBe(names.types.labels, node) }

    private func mayBe(_ type: ObjectType, _ node: CEL.Node) -> Bool {
        [.object(type), .nullable(.object(type))].contains(expression.type(of: node))
    }

    private static func mayBeTable(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0.isASCIIDigit || $0 == UInt8(ascii: "_")
        }
    }
}

extension CEL.Node {
    var textLiteral: String? { if case .literal(.string(let text)) = kind { text } else { nil } }
}
