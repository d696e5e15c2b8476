import BellhopCore

/// Reads a condition's operand as its operator requires.
struct OperandReader {
    typealias Path = [SettingComplaint.Step]
    typealias Condition = EncodedQuery.Condition

    let field: String
    let how: FilterOperator
    private(set) var complaints: [SettingComplaint] = []

    mutating func condition(_ json: JSON, _ path: Path) -> Condition? {
        if json == "my_groups", how == .is || how == .isOneOf {
            return Condition(field, .dynamic, "d6435e965f510100a9ad2572f2b47744")
        }
        switch how.operand {
        case .value, .moment:
            if let other = json["field"], let members = json.asObject, members.count == 1 {
                return compared(with: other, path + [.key("field")])
            }
            return value(json, path, boundary: how.boundary).map { Condition(field, how.encoded, $0) }
        case .text: return value(json, path, boundary: .start).map { Condition(field, how.encoded, $0) }
        case .list: return list(json, path)
        case .flag: return flag(json, path)
        case .pair: return pair(json, path)
        case .day: return day(json, path).map { Condition(field, how.encoded, $0) }
        case .field:
            if let members = json.asObject, members["by"] != nil { return same(members, path) }
            if let other = json["field"], json.asObject?.count == 1 { return compared(with: other, path + [.key("field")]) }
            return compared(with: json, path)
        case .distance: return distance(json, path)
        case .part: return part(json, path)
        case .relative: return relativeToNow(json, path)
        case .name: return name(json, path).map { Condition(field, how.encoded, $0) }
        case .identifier: return identifier(json, path).map { Condition(field, how.encoded, $0) }
        }
    }

    // MARK: Values

    /// A value, not escaped. Scripts come only from Bellhop itself.
    private mutating func value(_ json: JSON, _ path: Path, boundary: RelativeTime.Boundary) -> String? {
        switch json {
        case .null:
            return refuse("this condition has no value", path, help: "write `\(field): {is_empty: true}` for an empty field")
        case .array:
            return refuse("`\(how.rawValue)` takes one value", path, help: "write `\(field): {is_one_of: […]}` for several")
        case .bool(let flag): return takesTime ? refuseTime(path) : flag ? "true" : "false"
        case .int(let number): return takesTime ? refuseTime(path) : String(number)
        case .double(let number): return takesTime ? refuseTime(path) : String(number)
        case .string(let text): return self.text(text, path, boundary: boundary)
        case .object(let members):
            if let text = members["text"], members.count == 1 {
                guard let text = text.asString else { return refuse("`text` must be a text", path) }
                return plain(text, path)
            }
            return relative(members, path, boundary: boundary)?.script
        }
    }

    private var takesTime: Bool { how.operand == .moment || how.operand == .day }

    /// Whether a text that looks like a time is read as a time.
    private var readsTimes: Bool { how.operand != .text }

    private mutating func text(_ text: String, _ path: Path, boundary: RelativeTime.Boundary) -> String? {
        if how == .is || how == .isNot, text == "me" { return Self.me(field) }
        if readsTimes, let moment = Timestamp(rfc3339: text) { return moment.sql }
        if takesTime {
            if let days = RelativeTime.words[text] { return RelativeTime(unit: .days, ago: days, boundary: boundary).script }
            if Timestamp(sql: text) != nil || ComparedValue.isDate(text) { return text }
            return plain(text, path) == nil ? nil : refuseTime(path)
        }
        return plain(text, path)
    }

    /// A text taken literally.
    private mutating func plain(_ text: String, _ path: Path) -> String? {
        if text.isEmpty {
            return refuse(
                "an empty text is not a value to compare with", path,
                help: "write `\(field): {is_empty: true}` for an empty field")
        }
        if ComparedValue.isScript(ASCII.lowercased(ASCII.trimmed(text))) {
            return refuse(
                "the server would run this value as a script", path, code: "script-value",
                help: "write `{is: me}`, or a time as `{at_or_after: {days_ago: 0}}`; a script of your own belongs in `query`")
        }
        if text == "NULL" {
            return refuse("the server takes NULL for an empty field", path, help: "write `\(field): {is_empty: true}`")
        }
        return text
    }

    /// The connection's user, for a column of names or of references.
    private static func me(_ field: String) -> String {
        let last = field.split(separator: ".").last ?? ""
        let isName = ["sys_created_by", "sys_updated_by", "user_name"].contains(last)
        return isName ? "javascript:gs.getUserName()" : "javascript:gs.getUserID()"
    }

    mutating func relative(_ members: JSON.Object, _ path: Path, boundary: RelativeTime.Boundary) -> RelativeTime? {
        var boundary = boundary
        if let at = members["at"] {
            guard let word = at.asString, let given = RelativeTime.Boundary(rawValue: word) else {
                return refuse("`at` is `start`, `end` or `now`", path + [.key("at")])
            }
            boundary = given
        }
        let keys = members.keys.filter { $0 != "at" }
        guard keys.count == 1, let key = keys.first, let count = members[key] else {
            return refuse(
                "this is not a value to compare with", path,
                help: "a value, `{text: …}`, `{field: …}` or a time as `{days_ago: 3}`")
        }
        guard RelativeTime.keys.contains(key) else {
            let known = RelativeTime.keys + ["text"] + (how.encodedForField == nil ? [] : ["field"])
            complaints.append(
                SettingComplaint(
                    code: "unknown-key", "`\(key)` is not a way to write a value", at: path + [.key(key)], isAboutKey: true,
                    help: Suggestion.didYouMean(key, among: known) ?? "use " + known.quotedList))
            return nil
        }
        guard case .int(let number) = count, let time = RelativeTime(key, number, boundary: boundary) else {
            return refuse("`\(key)` is a number from 0 to 100000", path + [.key(key)])
        }
        return time
    }

    // MARK: Other operands

    private mutating func list(_ json: JSON, _ path: Path) -> Condition? {
        guard let items = json.asArray, !items.isEmpty else {
            return refuse("`\(how.rawValue)` takes a list", path, help: "as in `\(field): [1, 2]`")
        }
        var values: [String] = []
        for (index, item) in items.enumerated() {
            let path = path + [.index(index)]
            guard let value = value(item, path, boundary: .start) else { continue }
            if value.utf8.contains(UInt8(ascii: ",")) {
                complain(
                    "the server separates list values by commas, so no value can contain one", path,
                    help: "write `any: [{\(field): …}, …]`")
            }
            if item == "me" { complain("`me` is not allowed in a list", path, help: "write `any: [{\(field): me}, …]`") }
            values.append(value)
        }
        return complaints.isEmpty ? Condition(field, how.encoded, values.joined(separator: ",")) : nil
    }

    private mutating func flag(_ json: JSON, _ path: Path) -> Condition? {
        switch (json, how) {
        case (true, _): return Condition(field, how.encoded)
        case (false, .isEmpty): return Condition(field, .isNotEmpty)
        case (false, .isNotEmpty): return Condition(field, .isEmpty)
        case (_, .isEmpty), (_, .isNotEmpty): return refuse("`\(how.rawValue)` is `true` or `false`", path)
        case (_, _): return refuse("`\(how.rawValue)` is `true`", path)
        }
    }

    private mutating func pair(_ json: JSON, _ path: Path) -> Condition? {
        guard let ends = json.asArray, ends.count == 2 else {
            return refuse("`between` takes two values", path, help: "as in `\(field): {between: [2, 4]}`")
        }
        var values: [String] = []
        for (index, boundary) in [RelativeTime.Boundary.start, .end].enumerated() {
            let path = path + [.index(index)]
            guard let value = value(ends[index], path, boundary: boundary) else { continue }
            if value.utf8.contains(UInt8(ascii: "@")) {
                complain(
                    "the server separates the two values by `@`, so neither can contain one", path,
                    help: "write `{at_least: …, at_most: …}`")
            }
            values.append(value)
        }
        return complaints.isEmpty ? Condition(field, how.encoded, values.joined(separator: "@")) : nil
    }

    /// A day or another period: its label, first and last moment.
    private mutating func day(_ json: JSON, _ path: Path) -> String? {
        if let text = json.asString, ComparedValue.isDate(text) {
            return "\(text)@javascript:gs.dateGenerate('\(text)','start')@javascript:gs.dateGenerate('\(text)','end')"
        }
        var time: RelativeTime?
        if let text = json.asString, let days = RelativeTime.words[text] {
            time = RelativeTime(unit: .days, ago: days, boundary: .start)
        } else if let members = json.asObject, members["at"] == nil {
            guard let read = relative(members, path, boundary: .start) else { return nil }
            time = read
        }
        guard let time, time.unit != .years else {
            return refuse("this is not a day", path, help: "write `today`, `2026-01-05`, `{days_ago: 3}` or `{months_ago: 0}`")
        }
        let end = RelativeTime(unit: time.unit, ago: time.ago, boundary: .end)
        return "\(time.label)@\(time.script)@\(end.script)"
    }

    private mutating func compared(with json: JSON, _ path: Path) -> Condition? {
        guard let other = json.asString, EncodedQuery.isField(other) else {
            return refuse("this is not a field name", path, help: "as in `\(how.rawValue): {field: opened_at}`")
        }
        guard let encoded = how.operand == .field ? how.encoded : how.encodedForField else {
            return refuse("`\(how.rawValue)` does not compare fields", path)
        }
        return Condition(field, encoded, other)
    }

    private mutating func name(_ json: JSON, _ path: Path) -> String? {
        guard let name = json.asString, EncodedQuery.isField(name) else { return refuse("this is not a table name", path) }
        return name
    }

    private mutating func identifier(_ json: JSON, _ path: Path) -> String? {
        if how == .dynamic, json == "me" { return "90d1921e5f510100a9ad2572f2b477fe" }
        guard let id = json.asString, ServiceNowConnection.isSysID(id) else {
            return refuse("`\(how.rawValue)` takes a sys_id, 32 hexadecimal digits", path)
        }
        return id
    }

    // MARK: Complaints

    private mutating func refuseTime(_ path: Path) -> String? {
        refuse(
            "this is not a time", path,
            help: "write `2026-01-05T09:00:00Z`, `2026-01-05 09:00:00` (UTC), `today` or `{days_ago: 3}`"
        )
    }

    mutating func refuse<Value>(_ message: String, _ path: Path, code: String = "wrong-value", help: String? = nil)
        -> Value?
    {
        complain(message, path, code: code, help: help)
        return nil
    }

    private mutating func complain(_ message: String, _ path: Path, code: String = "wrong-value", help: String? = nil) {
        complaints.append(SettingComplaint(code: code, message, at: path, help: help))
    }
}
