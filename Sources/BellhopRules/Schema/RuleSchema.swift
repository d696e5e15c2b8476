public import BellhopCore

/// JSON Schemas (draft 2020-12) of rule files and their tests for editors, made from the declarations used for checking.
public enum RuleSchema {
    /// The schema of a rule file: one rule, or a list under `rules`.
    public static func rules(actions: [ActionManifest], events: EventCatalogue = .builtIn) -> JSON {
        var rule = SettingSchema.record(RuleKeys.rule)
        rule["properties"]?["on"] = on
        rule["properties"]?["do"] = [
            "type": "array", "minItems": 1, "items": step(actions), "description": .string(summary("do")),
        ]
        var escalation = SettingSchema.record(RuleKeys.escalation)
        escalation["properties"]?["do"] = rule["properties"]?["do"]
        rule["properties"]?["escalate"] = [
            "oneOf": [escalation, list(escalation)],
            "description": .string(summary("escalate")),
        ]
        return [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Bellhop rules",
            "oneOf": [
                ["$ref": "#/$defs/rule"],
                [
                    "type": "object", "required": ["rules"], "additionalProperties": false,
                    "properties": ["rules": ["type": "array", "items": ["$ref": "#/$defs/rule"]]],
                ],
            ],
            "$defs": [
                "rule": rule, "event": ["enum": .array(events.nameable.map { .string($0.type.name) })], "expression": expression,
            ],
        ]
    }

    /// The schema of a file of tests.
    public static func tests(actions: [ActionManifest], events: EventCatalogue = .builtIn) -> JSON {
        var test = SettingSchema.record(TestKeys.test)
        test["properties"]?["given"] = ["type": "array", "items": given(events)]
        test["properties"]?["expect"] = ["type": "array", "items": expectation(actions)]
        var file = SettingSchema.record(TestKeys.file)
        file["properties"]?["tests"] = ["type": "array", "items": test]
        file["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        file["title"] = "Tests of Bellhop rules"
        file["$defs"] = ["expression": expression]
        return file
    }

    private static let event: JSON = ["$ref": "#/$defs/event"]

    private static func list(_ items: JSON, least: Int64 = 1) -> JSON {
        ["type": "array", "minItems": .int(least), "items": items]
    }

    private static func summary(_ name: String) -> String { RuleKeys.rule.first { $0.name == name }?.summary ?? "" }

    private static let expression: JSON = [
        "type": ["string", "number", "boolean"], "description": "An expression in the Common Expression Language.",
    ]

    // MARK: Triggers

    private static var on: JSON {
        let changes: JSON = [
            "type": "object", "required": ["task_changed"], "additionalProperties": false,
            "properties": [
                "task_changed": [
                    "type": "object",
                    "additionalProperties": ["oneOf": [SettingSchema.record(RuleKeys.change), ["type": "null"]]],
                ]
            ],
        ]
        let one: JSON = [
            "oneOf": [event, changes, SettingSchema.record(RuleKeys.schedule), SettingSchema.record(RuleKeys.every)]
        ]
        return [
            "oneOf": [one, list(one), pattern(changes)], "description": .string(summary("on")),
        ]
    }

    /// Several events together.
    private static func pattern(_ changes: JSON) -> JSON {
        var whole = SettingSchema.record(RuleKeys.patternEntry)
        whole["properties"]?["type"] = ["oneOf": [event, changes, list(event)]]
        let entry: JSON = ["oneOf": [event, changes, whole]]
        let absent: JSON = ["oneOf": [entry, list(entry)]]
        let together = list(["oneOf": [event, changes, whole, list(event)]], least: 2)
        let kinds = Pattern.Kind.allCases.map { kind in
            var schema = SettingSchema.record(
                RuleKeys.pattern.filter { setting in
                    setting.name == kind.rawValue || setting.name == "within" || setting.name == "by"
                        || kind == .none && setting.name == "after"
                })
            for setting in RuleKeys.pattern where [kind.rawValue, "after"].contains(setting.name) {
                guard kind == .none || setting.name != "after" else { continue }
                schema["properties"]?[setting.name] = kind == .none ? absent : together
                schema["properties"]?[setting.name]?["description"] = .string(setting.summary)
            }
            schema["required"] = [.string(kind.rawValue), "within"]
            return schema
        }
        return ["oneOf": .array(kinds)]
    }

    // MARK: Steps

    private static func step(_ actions: [ActionManifest]) -> JSON {
        var step = SettingSchema.record(RuleKeys.step)
        for action in actions {
            var schema = SettingSchema.record(RuleKeys.arguments(of: action), isTemplated: true)
            schema["description"] = .string(action.summary)
            schema = orShort(schema, of: action, isTemplated: true)
            step["properties"]?[action.kind] = schema
        }
        step["oneOf"] = .array(actions.map { ["required": [.string($0.kind)]] })
        return step
    }

    private static func orShort(_ schema: JSON, of action: ActionManifest, isTemplated: Bool) -> JSON {
        guard let setting = action.arguments.first(where: { $0.name == action.shorthand }) else { return schema }
        guard case .map = setting.type else { return ["oneOf": [["type": ["string", "number", "boolean"]], schema]] }
        return ["anyOf": [SettingSchema.schema(setting, isTemplated: isTemplated), schema]]
    }

    // MARK: Tests

    private static func given(_ events: EventCatalogue) -> JSON {
        var properties = JSON.Object(
            events.nameable.map { ($0.type.name, SettingSchema.record(TestKeys.members(of: $0))) })
        for setting in [TestKeys.wait, TestKeys.at, TestKeys.source, TestKeys.own, TestKeys.restart, TestKeys.down] {
            properties[setting.name] = SettingSchema.schema(setting)
        }
        properties["silence"] = SettingSchema.record(TestKeys.givenSilence)
        properties["tasks"] = ["type": "array", "items": ["type": "object"], "description": .string(TestKeys.tasks.summary)]
        return ["type": "object", "additionalProperties": false, "properties": .object(properties)]
    }

    private static func expectation(_ actions: [ActionManifest]) -> JSON {
        var schema = SettingSchema.record(TestKeys.expectation)
        for action in actions {
            var arguments = SettingSchema.record(TestKeys.arguments(of: action))
            arguments["required"] = nil
            arguments = orShort(arguments, of: action, isTemplated: false)
            schema["properties"]?[action.kind] = arguments
        }
        schema["properties"]?[TestKeys.after.name] = SettingSchema.schema(TestKeys.after)
        schema["oneOf"] = .array((actions.map(\.kind) + [TestKeys.after.name]).map { ["required": [.string($0)]] })
        return schema
    }
}
