import BellhopCore

/// The shape of a JSON value, as the OpenAPI document describes it (JSON Schema 2020-12).
indirect enum Schema: Sendable {
    case text(String = "")
    /// One of these words.
    case word([String], String = "")
    /// A moment, in RFC 3339.
    case time(String = "")
    case integer(String = "")
    case number(String = "")
    case boolean(String = "")
    case any(String = "")
    case list(Schema)
    case nullable(Schema)
    /// An object with these members; those in `optional` may be missing. An open object may have further members.
    case object([(String, Schema)], optional: [String] = [], isOpen: Bool = true)
    /// One of the document's own schemas.
    case named(String)

    var json: JSON {
        switch self {
        case .text(let about): Self.described(["type": "string"], about)
        case .word(let words, let about): Self.described(["type": "string", "enum": .array(words.map(JSON.string))], about)
        case .time(let about): Self.described(["type": "string", "format": "date-time"], about)
        case .integer(let about): Self.described(["type": "integer", "format": "int64"], about)
        case .number(let about): Self.described(["type": "number"], about)
        case .boolean(let about): Self.described(["type": "boolean"], about)
        case .any(let about): Self.described([:], about)
        case .list(let items): ["type": "array", "items": items.json]
        case .nullable(let schema): ["anyOf": [schema.json, ["type": "null"]]]
        case .object(let members, let optional, let isOpen):
            [
                "type": "object", "properties": .object(JSON.Object(members.map { ($0.0, $0.1.json) })),
                "required": .array(members.map(\.0).filter { !optional.contains($0) }.map(JSON.string)),
                "additionalProperties": .bool(isOpen),
            ]
        case .named(let name): ["$ref": .string("#/components/schemas/\(name)")]
        }
    }

    private static func described(_ schema: JSON.Object, _ about: String) -> JSON {
        var schema = schema
        if !about.isEmpty { schema["description"] = .string(about) }
        return .object(schema)
    }

    /// The mistake in a value; nil if it matches the schema. Used for the bodies of requests, and by tests for answers.
    func complaint(about value: JSON?, at place: String = "the body", named: [String: Schema]) -> String? {
        func wrong(_ what: String) -> String { "\(place) must be \(what)" }
        guard let value else { return "\(place) is missing" }
        switch self {
        case .any: return nil
        case .text: return value.asString == nil ? wrong("a text, not \(value.kindPhrase)") : nil
        case .word(let words, _):
            guard let text = value.asString else { return wrong("a text, not \(value.kindPhrase)") }
            if words.contains(text) { return nil }
            return wrong("one of \(words.joined(separator: ", "))")
        case .time:
            guard let text = value.asString, Timestamp(rfc3339: text) != nil else {
                return wrong("a time such as 2026-12-24T18:00:00Z")
            }
            return nil
        case .integer: return value.asInt == nil ? wrong("a whole number, not \(value.kindPhrase)") : nil
        case .number: return value.asDouble == nil ? wrong("a number, not \(value.kindPhrase)") : nil
        case .boolean: return value.asBool == nil ? wrong("true or false, not \(value.kindPhrase)") : nil
        case .nullable(let schema): return value.isNull ? nil : schema.complaint(about: value, at: place, named: named)
        case .named(let name): return named[name]?.complaint(about: value, at: place, named: named) ?? nil
        case .list(let items):
            guard let values = value.asArray else { return wrong("a list, not \(value.kindPhrase)") }
            for (number, item) in values.enumerated() {
                if let complaint = items.complaint(about: item, at: "\(place)[\(number)]", named: named) { return complaint }
            }
            return nil
        case .object(let members, let optional, let isOpen):
            guard let object = value.asObject else { return wrong("an object, not \(value.kindPhrase)") }
            for (name, schema) in members {
                if object[name] == nil, optional.contains(name) { continue }
                let inner = place == "the body" ? "`\(name)`" : "\(place).\(name)"
                if let complaint = schema.complaint(about: object[name], at: inner, named: named) { return complaint }
            }
            if !isOpen, let unknown = object.keys.first(where: { name in !members.contains { $0.0 == name } }) {
                return Suggestion.didYouMean(unknown, among: members.map(\.0)).map { "there is no `\(unknown)`: \($0)" }
                    ?? "there is no `\(unknown)`"
            }
            return nil
        }
    }
}

extension JSON {
    /// Its kind with an article.
    fileprivate var kindPhrase: String {
        switch self {
        case .null: "null"
        case .array, .object: "an \(kindName)"
        case .bool, .int, .double, .string: "a \(kindName)"
        }
    }
}
