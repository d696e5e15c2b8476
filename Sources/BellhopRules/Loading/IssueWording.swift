import BellhopCore
import CEL

/// Translates the language's messages about an expression into the terms of rules.
struct IssueWording {
    let names: RuleNames

    /// The codes that the language reports for a query in another language.
    private static let queryCodes: Set<String> = [
        "syntax", "strange-character", "bad-number", "unknown-name", "unknown-function", "unclosed-text",
    ]

    /// The code of a query in another language.
    static let foreignQuery = "foreign-query"

    /// - Parameters:
    ///   - text: the expression.
    ///   - what: the name of the expression in messages: `` `when` ``.
    func diagnostic(_ issue: Issue, in text: String, at place: Diagnostic.Place, _ what: String) -> Diagnostic {
        if Self.queryCodes.contains(issue.code),
            let hint = names.queryHint(
                text.trimmedBlanks, { field in names.sources.lazy.compactMap { $0.schema[field]?.type }.first })
        {
            return Diagnostic(code: Self.foreignQuery, hint.message, at: place, help: hint.help)
        }
        let part = Array(text.utf8)[issue.range.clamped(to: 0..<text.utf8.count)]
        let word = String(decoding: part, as: UTF8.self)
        switch issue.code {
        case "unknown-name": if let better = unknownName(word, at: place) { return better }
        case "unknown-function": if let better = unknownFunction(word, at: place) { return better }
        case "unknown-field", "invalid-argument": if let better = unknownField(issue, in: text, word, at: place) { return better }
        case "wrong-type":
            let prefix = "the expression's type here"
            if issue.message.hasPrefix(prefix) {
                return Diagnostic(
                    code: issue.code, what + issue.message.dropFirst(prefix.count), at: place,
                    help: SyntaxHints(issue, in: text).help ?? issue.help)
            }
        case "no-such-operator":
            if let found = word.firstMatch(of: /^([A-Za-z_][\w.]*)\[["']([^"']*)["']\]/), found.1 != "changes" {
                let field = String(found.2)
                return Diagnostic(
                    code: issue.code, "access a task's fields with a dot, not `[]`", at: place,
                    help: MessageReader.isName(field) ? "write `\(found.1).\(field)`" : nil)
            }
        case "incomparable-types":
            if let help = labelInstead(word) {
                return Diagnostic(code: issue.code, issue.message, at: place, help: help)
            }
        default: break
        }
        if issue.code == "unknown-name", let help = quoted(issue, in: text) {
            return Diagnostic(code: issue.code, issue.message, at: place, help: help)
        }
        let foreign = SyntaxHints(issue, in: text).help
        return Diagnostic(code: issue.code, issue.message, at: place, help: foreign ?? issue.help)
    }

    /// The message for a field that a source does not have, with the name of that source.
    private func unknownField(_ issue: Issue, in text: String, _ word: String, at place: Diagnostic.Place) -> Diagnostic? {
        let task = names.types.task.name
        guard issue.message.hasPrefix("no field "), issue.message.hasSuffix(task) else { return nil }
        let field = issue.code == "unknown-field" ? word : String(word.dropFirst().dropLast())
        let source = names.sources.count > 1 ? names.sources.first { !Self.has(field, $0.schema) } : nil
        let whose = source.map { "a task of source `\($0.name)`" } ?? task
        let help =
            issue.help ?? source.flatMap { Suggestion.didYouMean(field, among: $0.schema.fields.map(\.name)) }
            ?? (source ?? names.sources.first).map {
                Self.declaring(field, of: $0) + (source == nil ? "" : readingOne(field, Self.isOfEvent(issue, in: text)))
            }
        return Diagnostic(code: "unknown-field", "no field `\(field)` on \(whose)", at: place, help: help)
    }

    /// Whether an unknown field is one of the event's task, and not of one in a list.
    private static func isOfEvent(_ issue: Issue, in text: String) -> Bool {
        let before = String(decoding: text.utf8.prefix(issue.range.lowerBound), as: UTF8.self)
        return before.contains(/\b(task|before)(\.fields|\.labels)?\??[.\[]$/)
    }

    /// The advice to read only the tasks of a source that has the field; empty if none has it.
    private func readingOne(_ field: String, _ isOfEvent: Bool) -> String {
        guard let able = names.sources.first(where: { Self.has(field, $0.schema) })?.name else { return "" }
        return ", or read one source's tasks: `from: \(able)`"
            + (isOfEvent ? "" : ", or `snapshot(\"\(able)\")` in place of `tasks`")
    }

    private static func has(_ field: String, _ schema: TaskSchema) -> Bool {
        schema[field] != nil || field == Snapshot.created && schema.created != nil
    }

    /// The advice to declare a field. For `created` it names the source's own field.
    private static func declaring(_ field: String, of source: RuleContext.SourceFacts) -> String {
        let own = field == Snapshot.created ? source.schema.roles.created : nil
        let name = own.map { "`\($0)`, which `\(field)` stands for," } ?? "it"
        return "declare \(name) under `fields` of source `\(source.name)`, if its tasks have it"
    }

    /// The advice to compare a numeric field's label, if the field is compared with a text that is not a number.
    private func labelInstead(_ comparison: String) -> String? {
        guard let found = comparison.firstMatch(of: /^\s*([A-Za-z_]\w*)\.([A-Za-z_]\w*)\s*(==|!=|in)\s*(\[?\s*["']([^"']*).*)$/),
            Double(found.5) == nil,
            let field = names.types.fields.fields.first(where: { $0.name == found.2 }),
            [.nullable(.int), .nullable(.double)].contains(field.type)
        else { return nil }
        let label = found.1 == "task" ? "label(\"\(found.2)\")" : "\(found.1).labels.\(found.2)"
        let facts = LabelFacts(sources: names.sources, isOpen: names.types.isOpen)
        var advice = "write `\(label) \(found.3) \(found.4)`"
        if let source = names.sources.first(where: { $0.labels != .yes }), !names.types.isOpen {
            guard let line = source.labels.missingLine else { return nil }
            advice = "set `\(line)` on source `\(source.name)`, and \(advice)"
        }
        let mismatch = facts.mismatch(among: [String(found.5)], in: String(found.2))
        guard case .isLabel(let values)? = mismatch?.reason, found.3 != "in" else { return advice }
        return "write `\(found.1).\(found.2) \(found.3) \(values[0])`, or \(advice)"
    }

    /// The hint for an unquoted word that, in quotes, would be a label compared with a number or an id.
    private func quoted(_ issue: Issue, in text: String) -> String? {
        guard let corrected = SyntaxHints(issue, in: text).quoted else { return nil }
        do throws(Issues) {
            let expression = try names.environment.compile(corrected)
            return ExpressionReview.issues(in: expression, names).first { $0.code.hasPrefix("label-") }?.help
        } catch {
            for next in error.all where next.code == "incomparable-types" {
                let bytes = Array(corrected.utf8)[next.range.clamped(to: 0..<corrected.utf8.count)]
                return labelInstead(String(decoding: bytes, as: UTF8.self))
            }
            return nil
        }
    }

    private func unknownName(_ word: String, at place: Diagnostic.Place) -> Diagnostic? {
        let name = String(word.prefix { $0 != "." })
        switch name {
        case "env", "secret":
            return Diagnostic(
                code: "not-in-rules", "`\(name)` exists in bellhop.yaml only", at: place,
                help: "set it on a connection in bellhop.yaml, and name that connection in `to`")
        case "task", "before", "changes", "event", "source":
            guard !names.events.isEmpty else { return missingSubject(name, at: place) }
            return Diagnostic(
                code: "no-task", "\(names.events.map(\.type.name).quotedList) has no task", at: place,
                help: "`tasks` holds the tasks of the rule's sources")
        case "comment":
            guard !names.events.isEmpty else { return missingSubject(name, at: place) }
            return Diagnostic(
                code: "no-comment", "\(names.events.map(\.type.name).quotedList) has no comment", at: place,
                help: "only `task_commented` has a comment")
        case "events", "events_more", "key", "since":
            guard !names.events.isEmpty else { return missingSubject(name, at: place) }
            let parts =
                [
                    "events": "`count`, `group`, `all`, `sequence` or a schedule as its only trigger",
                    "events_more": "a schedule as its only trigger",
                ][name]
                ?? "`for`, `count`, `group` or several events"
            return Diagnostic(
                code: "no-\(name.replacing("_", with: "-"))", "only a rule with \(parts) has `\(name)`", at: place,
                help: "use `event`, the event that the rule runs for")
        case "rule":
            return Diagnostic(code: "no-rule", "only the expressions of a rule have `rule`, the name of that rule", at: place)
        case "answered":
            return Diagnostic(
                code: "no-answered", "`answered` can be used only in `until`", at: place,
                help: "`until: answered` ends the escalation of a rule once somebody else changes or comments its task")
        default: return nil
        }
    }

    private func unknownFunction(_ word: String, at place: Diagnostic.Place) -> Diagnostic? {
        let name = String(word.prefix { $0 != "(" })
        return names.events.isEmpty && RuleFunctions.ofEvents.contains(name) ? missingSubject(name + "()", at: place) : nil
    }

    /// The message for a name that needs an event or a task in a place that has neither.
    private func missingSubject(_ name: String, at place: Diagnostic.Place) -> Diagnostic {
        let kind = ["event", "source", "comment"].contains(name) ? "event" : "task"
        if names.hasNoEvent {
            return Diagnostic(
                code: "no-task",
                "a rule with `none` but without `after` runs without an event or a task, so `\(name)` is unknown here",
                at: place, help: "use `source`, or add `after`, the event that begins the wait")
        }
        return Diagnostic(code: "no-\(kind)", "`\(name)` needs an event or a task to look at", at: place)
    }
}
