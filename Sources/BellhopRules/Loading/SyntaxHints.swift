import BellhopCore
import CEL

/// Hints for syntax from other languages.
struct SyntaxHints {
    private let issue: Issue
    private let before: String
    private let word: String
    private let after: String

    /// - Parameter text: the whole expression.
    init(_ issue: Issue, in text: String) {
        let bytes = Array(text.utf8)
        let range = issue.range.clamped(to: 0..<bytes.count)
        self.issue = issue
        before = String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
        word = String(decoding: bytes[range], as: UTF8.self)
        after = String(decoding: bytes[range.upperBound...], as: UTF8.self)
    }

    /// The correct form; nil if unknown.
    var help: String? {
        switch issue.code {
        case "syntax", "bad-number", "reserved-name": misplaced
        case "strange-character": strange
        case "no-fields": recordInstead ?? unknownFunction
        case "unknown-name": unknownName
        case "unknown-function": unknownFunction
        case "incomparable-types": changeItself ?? comparedWithNull ?? chain
        case "wrong-type": changeAsCondition ?? otherChoice ?? valueAsCondition
        case "no-such-overload": changedField ?? asMethod
        default: nil
        }
    }

    // MARK: Operators

    private var misplaced: String? {
        if let span = bareDuration { return "write `duration(\"\(span)\")`" }
        if Self.lastWord(before).lowercased() == "not" {
            return "write `!` for not: `!\(word)\(after.prefix(while: Self.isName))`"
        }
        switch word.lowercased() {
        case "and": return "write `&&`"
        case "or": return "write `||`"
        case "not": return "write `!(…)` around the condition"
        case "is", "equals", "eq", "be": return "compare with `==`, or with `!=`"
        case ">" where before.hasSuffix("<"): return "write `!=`"
        case "," where roundList != nil: return roundList
        case "if", "then", "else", "unless": return "a condition with two outcomes is `condition ? this : that`"
        case "contains", "includes", "like", "has": return method("contains")
        case "matches": return method("matches")
        case "startswith", "starts", "beginswith": return method("startsWith")
        case "endswith", "ends": return method("endsWith")
        case ":" where before.last?.isNumber == true && after.first?.isNumber == true:
            return "compare the parts of a time of day, for example `now.getHours(zone) >= 9`"
        case ")" where before.count(where: { $0 == "(" }) <= before.count(where: { $0 == ")" }):
            return "delete it: no `(` is open here"
        default: return brokenText
        }
    }

    /// `'it's'`: a quote within a text ends it.
    private var brokenText: String? {
        guard let quote = before.last, quote == "'" || quote == "\"", after.contains(quote), word.first?.isLetter == true else {
            return nil
        }
        return "the `\(quote)` before it ends the text: put the text between `\(quote == "'" ? "\"" : "'")`"
    }

    /// `t => …`, `title =~ /disk/` and `title | lower`.
    private var strange: String? {
        if word == "|", after.trimmedBlanks.wholeMatch(of: /\w+(\(.*\))?/) != nil {
            return "write `||` between conditions; to change a text, call a function: `\(Self.lastName(before)).lowerAscii()`"
        }
        guard word == "=" else { return nil }
        if after.hasPrefix(">"), let element = Self.lastName(before).nonEmpty {
            return "write the element's name and a comma: `\(element), …`"
        }
        return after.hasPrefix("~") ? "write `\(Self.lastName(before)).matches(\"…\")`" : nil
    }

    /// `task.assigned_to.name`: a reference is an id, and its label is the name.
    private var recordInstead: String? {
        let form = /((?:\w+\.)*?\w+)(?:\.labels|\.fields)?\.(\w+)\.(name|display_value|label|displayName)$/
        guard let found = (before + word).firstMatch(of: form) else { return nil }
        // Only tasks have labels. A comment's author is a name already.
        if ["comment", "event"].contains(found.1) { return nil }
        return "write `\(found.1).labels.\(found.2)`, with `display: both` on the source"
    }

    /// `task.title contains "disk"` as a method call.
    private func method(_ name: String) -> String {
        let operand = Self.lastName(before)
        let rest = after.trimmedBlanks
        let argument = rest.first.flatMap { mark -> String? in
            guard mark == "\"" || mark == "'", let end = rest.dropFirst().firstIndex(of: mark) else { return nil }
            return String(rest[...end])
        }
        let plain = argument.map { $0.replacing("%", with: "") } ?? "\"…\""
        return "write `\(operand.isEmpty ? "text" : operand).\(name)(\(plain))`"
    }

    /// `in (1, 2)`.
    private var roundList: String? {
        guard let open = before.lastIndex(of: "("), Self.lastWord(String(before[..<open])) == "in" else { return nil }
        let inner = before[before.index(after: open)...] + "," + after.prefix { $0 != ")" }
        return "write a list in square brackets: `in [\(inner)]`"
    }

    /// `5m` and `1h30m`, which need quotes; days become hours.
    private var bareDuration: String? {
        let head = String(String(before.reversed().prefix { $0.isASCII && ($0.isNumber || $0 == ".") }).reversed())
        let tail = word + after.prefix { $0.isASCII && ($0.isNumber || $0.isLetter) }
        guard head.first?.isNumber == true || word.first?.isNumber == true,
            let span = try? DurationText.parse(head + tail.filter { $0 != " " }), tail.contains(where: \.isLetter)
        else { return nil }
        guard tail.contains("d") || tail.contains("w") else { return head + tail }
        let (hours, rest) = span.components.seconds.quotientAndRemainder(dividingBy: 3600)
        return "\(hours)h" + (rest == 0 ? "" : DurationText.format(.seconds(rest)))
    }

    /// `1 < task.priority < 3`.
    private var chain: String? {
        guard let found = word.wholeMatch(of: /([^<>=&|]+)(<=?|>=?)([^<>=&|]+)(<=?|>=?)([^<>=&|]+)/) else { return nil }
        let (low, middle, high) = (String(found.1).trimmedBlanks, String(found.3).trimmedBlanks, String(found.5).trimmedBlanks)
        return "write `\(low) \(found.2) \(middle) && \(middle) \(found.4) \(high)`"
    }

    /// `task.priority == 1 || 2`.
    private var otherChoice: String? {
        guard issue.message.hasPrefix("each side of `||`"),
            let found = before.firstMatch(of: /([A-Za-z_][\w.]*)\s*==\s*[^&|()]+\|\|\s*$/)
        else { return nil }
        return "write `\(found.1) == \(word)`"
    }

    /// `task.title` or `task.priority` as a condition.
    private var valueAsCondition: String? {
        guard issue.message.contains("must be a bool"), word.wholeMatch(of: /[A-Za-z_][\w.]*/) != nil else { return nil }
        if issue.message.hasSuffix("this is a string") { return "compare it: `\(word) != \"\"`" }
        return issue.message.hasSuffix("this is an int") ? "compare it, for example `\(word) == 1`" : nil
    }

    /// `contains(task.title, "disk")` as a method call.
    private var asMethod: String? {
        guard issue.help?.hasPrefix("use string.\(word)(") == true, !before.hasSuffix("."),
            let found = after.firstMatch(of: /^\(([A-Za-z_][\w.]*), *([^()]+)\)/)
        else { return nil }
        return "write `\(found.1).\(word)(\(found.2))`"
    }

    // MARK: Names

    /// The expression with the word in quotes, if it is compared with something.
    var quoted: String? {
        unknownName?.hasPrefix("put a text in quotes") == true ? "\(before)\"\(word)\"\(after)" : nil
    }

    private var unknownName: String? {
        guard word.allSatisfy({ Self.isName($0) && $0 != "." }) else { return nil }
        switch word {
        case "True", "TRUE", "False", "FALSE": return "write `\(word.lowercased())`"
        case "None", "NULL", "Null", "nil", "undefined": return "write `null`; an empty text is `\"\"`"
        case "old", "previous": return "write `before`, which is the task as it was"
        case "current": return "write `task`"
        case "today": return "write `now`; a part of the day is `now.getHours(zone)` or `now.getDayOfWeek(zone)`"
        default: break
        }
        if after.hasPrefix(".") { return nil }  // Its field is read: another name was meant, not a text.
        let (left, right) = (before.trimmedBlanks, after.trimmedBlanks)
        let isCompared =
            left.hasSuffix("==") || left.hasSuffix("!=") || left.hasSuffix("[") || left.hasSuffix(",")
            || issue.help == nil && (right.hasPrefix("==") || right.hasPrefix("!="))
        let isArgument = issue.help == nil && left.hasSuffix("(") && (right.hasPrefix(")") || right.hasPrefix(","))
        return isCompared || isArgument ? "put a text in quotes: `\"\(word)\"`" : nil
    }

    private var unknownFunction: String? {
        let argument = after.hasPrefix("(") ? String(after.dropFirst().prefix { $0 != ")" }) : ""
        // Of several arguments, the first is meant: `any(tasks, …)`.
        let isOne = argument.first.map { "[{\"'".contains($0) } ?? true
        let first = isOne ? argument : String(argument.prefix { $0 != "," })
        let isMethod = before.hasSuffix(".")
        let operand = isMethod ? Self.lastName(String(before.dropLast())) : first
        let isKnown = !operand.isEmpty && !operand.contains("(")
        let (shown, list) = isKnown ? (operand, operand) : ("text", "list")
        let areNumbers = !isMethod && first != argument && !argument.contains("(")
        switch word.prefix(while: { $0 != "(" }).lowercased() {
        case "lower", "lowercase", "tolower", "tolowercase", "lcase", "downcase": return "write `\(shown).lowerAscii()`"
        case "upper", "uppercase", "toupper", "touppercase", "ucase", "upcase": return "write `\(shown).upperAscii()`"
        case "count" where isMethod && !argument.isEmpty: return "write `size(\(shown).filter(t, …))`"
        case "len", "length", "count", "size", "strlen": return "write `size(\(shown))`"
        case "strip", "trimmed": return "write `\(shown).trim()`"
        case "substr", "slice", "mid": return "write, for example, `\(shown).substring(0, 5)`"
        case "includes", "has", "like", "instr": return "write `\(shown).contains(\"…\")`"
        case "startswith", "hasprefix": return "write `\(shown).startsWith(\"…\")`"
        case "endswith", "hassuffix": return "write `\(shown).endsWith(\"…\")`"
        case "isempty", "empty", "isnull", "isblank": return "write `\(shown) == \"\"`, or `== null` if it is not a text"
        case "not": return "write `!`"
        case "now", "today": return "write `now`, which is the time of routing"
        case "hour", "hours": return "write `\(shown).getHours(zone)`"
        case "weekday", "dayofweek", "day_of_week": return "write `\(shown).getDayOfWeek(zone)`; 0 is Sunday"
        case "day", "dayofmonth": return "write `\(shown).getDate(zone)`"
        case "date", "datetime", "parsetime", "todate":
            return argument.isEmpty
                ? "write, for example, `\(shown).format(\"yyyy-MM-dd\", zone)`" : "write `timestamp(\"2026-01-05T09:00:00Z\")`"
        case "max" where areNumbers: return "write `math.greatest(\(argument))`"
        case "min" where areNumbers: return "write `math.least(\(argument))`"
        case "max": return "write `\(list).sort().last().orValue(0)`"
        case "min": return "write `\(list).sort().first().orValue(0)`"
        case "any", "some": return "write `\(list).exists(t, …)`"
        case "every": return "write `\(list).all(t, …)`"
        case "find": return "write `\(list).filter(t, …)`"
        case "filter", "map", "exists", "all", "exists_one": return "name the element first: `\(list).\(word)(t, …)`"
        default: return nil
        }
    }

    /// `changes.state == 2`: a change has two ends.
    private var changeItself: String? {
        guard word.hasPrefix("changes.") else { return nil }
        let name = word.prefix { Self.isName($0) }
        return name.split(separator: ".").count == 2 ? "write `\(name).to\(word.dropFirst(name.count))`" : nil
    }

    /// `changes.priority` as a condition.
    private var changeAsCondition: String? {
        guard issue.message.contains("must be a bool"), let found = word.wholeMatch(of: /changes\.(\w+)/) else { return nil }
        return "write `changed(\"\(found.1)\")`"
    }

    /// `changed(task.priority)`, `task.changed("priority")` and `changes.contains("priority")`.
    private var changedField: String? {
        guard word == "changed" || word == "contains" && before.hasSuffix("changes."),
            let found = after.firstMatch(of: /^\((?:task\.|["'])(\w+)["']?\)/)
        else { return nil }
        return "write `changed(\"\(found.1)\")`"
    }

    /// An empty text is `""` and never null.
    private var comparedWithNull: String? {
        for symbol in ["==", "!="] {
            let sides = word.split(separator: symbol, maxSplits: 1).map { String($0).trimmedBlanks }
            guard sides.count == 2, let value = sides.first(where: { $0 != "null" }), sides.contains("null") else { continue }
            return "an empty text is `\"\"`: write `\(value) \(symbol) \"\"`"
        }
        return nil
    }

    // MARK: Characters

    private static func isName(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "_" || character == ".")
    }

    /// The name at the end, with its dots: `task.title`.
    private static func lastName(_ text: String) -> String {
        String(String(text.trimmedBlanks.reversed().prefix(while: isName)).reversed())
    }

    private static func lastWord(_ text: String) -> String { lastName(text).split(separator: ".").last.map(String.init) ?? "" }
}
