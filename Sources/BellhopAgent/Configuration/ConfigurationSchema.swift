import BellhopConnectors
public import BellhopCore
import BellhopInbound
import BellhopRules

/// The JSON Schema (draft 2020-12) of bellhop.yaml for editors, made from the same declarations as the checks.
public enum ConfigurationSchema {
    public static var json: JSON {
        var root = SettingSchema.record(ConfigurationManifest.root)
        root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        root["title"] = "Bellhop's configuration"
        root["properties"]?["version"] = ["const": 1, "description": "The version of the file's format."]
        root["properties"]?["secrets"] = secrets
        root["properties"]?["connections"] = named(
            Catalogue.connections.map { ($0.kind, $0.summary, ConfigurationManifest.connection + $0.settings) })
        root["properties"]?["sources"] = named(
            Catalogue.sources.map { ($0.kind, $0.summary, ConfigurationManifest.source + $0.settings) } + [
                (
                    InboundReading.kind, "Events that other systems send.",
                    [Setting("kind", .name, required: true, "")] + InboundSettings.webhook
                )
            ])
        root["properties"]?["events"] = [
            "type": "object", "description": "Types of events that other systems send, by name.",
            "additionalProperties": SettingSchema.record(InboundSettings.event),
        ]
        return root
    }

    /// A mapping of names to settings, each of one of these kinds.
    private static func named(_ kinds: [(kind: String, summary: String, settings: [Setting])]) -> JSON {
        let choices = kinds.map { kind, summary, settings -> JSON in
            var schema = SettingSchema.record(settings)
            schema["properties"]?["kind"] = ["const": .string(kind)]
            schema["description"] = .string(summary)
            return schema
        }
        return ["type": "object", "additionalProperties": ["oneOf": .array(choices)]]
    }

    private static let secrets: JSON = [
        "type": "array", "description": "Where `${{ secret.NAME }}` is looked up, in order.",
        "items": [
            "oneOf": [
                ["const": "keychain"],
                [
                    "type": "object", "required": ["folder"], "additionalProperties": false,
                    "properties": ["folder": ["type": "string"]],
                ],
                [
                    "type": "object", "required": ["command"], "additionalProperties": false,
                    "properties": ["command": ["type": "array", "minItems": 1, "items": ["type": "string"]]],
                ],
            ]
        ],
    ]
}
