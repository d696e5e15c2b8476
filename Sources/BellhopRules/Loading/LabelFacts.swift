import BellhopCore

/// Which of a rule's sources read labels, and which texts are labels of a field but never its values.
struct LabelFacts {
    let sources: [RuleContext.SourceFacts]
    /// Without a configuration any source may read labels.
    let isOpen: Bool

    /// The source to name when labels are missing: one that could read them, or else the first if no source reads any.
    var without: RuleContext.SourceFacts? {
        if isOpen { return nil }
        if let able = sources.first(where: { $0.labels.missingLine != nil }) { return able }
        return sources.contains { $0.labels == .yes } ? nil : sources.first
    }

    /// These facts for only the sources that read no labels.
    var withoutLabels: LabelFacts { LabelFacts(sources: isOpen ? [] : sources.filter { $0.labels != .yes }, isOpen: isOpen) }

    /// A text that a field never holds, though it may be the field's label.
    struct Mismatch: Hashable {
        enum Reason: Hashable {
            case holdsID
            case holdsNumber
            /// It is the label of these values.
            case isLabel(of: [String])
        }

        var text: String
        var reason: Reason
        var source: RuleContext.SourceFacts
    }

    /// The first of these texts that the field never holds.
    ///
    /// - Parameter typed: whether a text also equals the number that it contains: `"2"` and 2.
    func mismatch(among texts: [String], in field: String, typed: Bool = false) -> Mismatch? {
        for source in sources {
            guard let declared = source.schema[field] else { continue }
            for text in texts where !text.isEmpty {
                guard let reason = Self.reason(text, declared, typed: typed) else { continue }
                return Mismatch(text: text, reason: reason, source: source)
            }
        }
        return nil
    }

    private static func reason(_ text: String, _ field: TaskSchema.Field, typed: Bool) -> Mismatch.Reason? {
        if field.holdsID { return isID(text) ? nil : .holdsID }
        if field.choices.contains(where: { $0.value == text }) { return nil }
        let values = TaskSchema.Choice.values(called: text, among: field.choices)
        if !values.isEmpty { return .isLabel(of: values) }
        switch field.type {
        case .int, .double: return typed && Double(text) != nil ? nil : .holdsNumber
        case .text, .bool, .timestamp: return nil
        }
    }

    /// Whether a text can be the id of a record: 32 characters. Some references hold other keys, without blanks or capitals.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32 && !text.utf8.contains(UInt8(ascii: " ")) || !text.utf8.contains(where: \.isASCIILetter)
    }

    /// How to turn labels on, if a setting can.
    static func setting(for source: RuleContext.SourceFacts) -> String {
        source.labels.missingLine.map { "in bellhop.yaml set `\($0)` on source `\(source.name)`" }
            ?? "a source of kind `\(source.kind)` has no labels: compare the value"
    }
}
