public import BellhopCore

/// The JSON Schema of declared settings.
public enum SettingSchema {
    /// A mapping of these settings.
    ///
    /// - Parameter isTemplated: whether a template is allowed wherever a text, a number or a boolean is.
    public static func record(_ settings: [Setting], isTemplated: Bool = false) -> JSON {
        let properties = JSON.Object(settings.map { ($0.name, self.schema($0, isTemplated: isTemplated)) })
        var schema: JSON = ["type": "object", "additionalProperties": false, "properties": .object(properties)]
        let required = settings.filter(\.required).map { JSON.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return schema
    }

    public static func schema(_ setting: Setting, isTemplated: Bool = false) -> JSON {
        var schema = type(setting.type, isTemplated: isTemplated && !RuleKeys.isLiteral(setting))
        schema["description"] = .string(setting.summary)
        if let fallback = setting.fallback, let value = try? setting.type.value(of: fallback) {
            // A value that is kept in another unit than it is written in is shown as written.
            switch setting.type {
            case .boolean, .integer, .number: schema["default"] = value
            case .text, .scalar, .secret, .name, .duration, .size, .rate, .oneOf, .address, .target, .path, .list, .map, .record,
                .json, .either, .markdown, .expression:
                schema["default"] = .string(fallback)
            }
        }
        return schema
    }

    private static let template: JSON = ["type": "string", "pattern": "\\$\\{\\{"]

    private static func type(_ type: SettingType, isTemplated: Bool) -> JSON {
        func orTemplate(_ schema: JSON) -> JSON { isTemplated ? ["anyOf": [schema, template]] : schema }
        switch type {
        case .text, .target, .secret, .markdown: return ["type": ["string", "number", "boolean"]]
        case .scalar: return ["type": ["string", "number", "boolean", "null"]]
        case .name, .path: return ["type": "string", "minLength": 1]
        case .expression: return ["$ref": "#/$defs/expression"]
        case .integer(let range):
            var schema: JSON = ["type": "integer"]
            if range.lowerBound > .min { schema["minimum"] = .int(Int64(range.lowerBound)) }
            if range.upperBound < .max { schema["maximum"] = .int(Int64(range.upperBound)) }
            return orTemplate(schema)
        case .number(let range):
            return orTemplate(["type": "number", "minimum": .double(range.lowerBound), "maximum": .double(range.upperBound)])
        case .boolean: return orTemplate(["type": "boolean"])
        case .duration: return orTemplate(["type": "string", "pattern": "^([0-9]+(d|h|ms|us|m|s))+$"])
        case .size: return orTemplate(["type": "string", "pattern": "^[0-9]+ ?([KkMmGg]i?)?[Bb]$"])
        case .rate: return orTemplate(["type": "string", "pattern": "^[0-9]+/[0-9a-z]+$"])
        case .oneOf(let names): return orTemplate(["enum": .array(names.map(JSON.string))])
        case .address: return orTemplate(["type": "string", "pattern": "^https?://"])
        case .list(let element):
            let one = self.type(element, isTemplated: isTemplated)
            return ["anyOf": [one, ["type": "array", "items": one]]]
        case .map(let element):
            return orTemplate(["type": "object", "additionalProperties": self.type(element, isTemplated: isTemplated)])
        case .record(let settings): return orTemplate(record(settings, isTemplated: isTemplated))
        case .json: return [:]
        case .either(let types): return ["anyOf": .array(types.map { self.type($0, isTemplated: isTemplated) })]
        }
    }
}
