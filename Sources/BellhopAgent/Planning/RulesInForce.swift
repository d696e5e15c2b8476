public import BellhopCore
import YAML
public import BellhopRules

/// The rule files that an agent put in force last, with the names of its connections, sources and secrets. A note in the store, so that
/// commands can read it when no agent runs.
public struct RulesInForce: Sendable, Hashable {
    public var at: Timestamp
    public var files: [RuleFile]
    public var connections: [String]
    public var sources: [String]
    /// The names of secrets, never their values.
    public var secrets: [String]
    /// The fingerprints of the settings of bellhop.yaml by their places: `connections/NAME`, `sources/NAME`, and the other keys. Empty if
    /// unknown.
    public var settings: [String: String]

    static let note = "rules in force"

    public init(
        at: Timestamp, files: [RuleFile], connections: [String], sources: [String], secrets: [String],
        settings: [String: String] = [:]
    ) {
        (self.at, self.files, self.connections, self.sources, self.secrets) = (at, files, connections, sources, secrets)
        self.settings = settings
    }

    /// The rules and names that a configuration and its files would put in force.
    public init(_ configuration: Configuration, _ files: [RuleFile], at now: Timestamp) {
        self.init(
            at: now, files: files.filter { !$0.isTest }, connections: configuration.connections.map(\.name).sorted(),
            sources: (configuration.sources.map(\.name) + configuration.inbound.sources).sorted(),
            secrets: ConfigurationLoader.secretNames(in: configuration.content ?? []).sorted(),
            settings: configuration.content.map(ConfigurationLoader.fingerprints) ?? [:])
    }

    /// Reads the note in the store; nil if no agent of this version has run.
    public init?(in store: any Store) async throws(StoreError) {
        guard let note = try await store.readNote(Self.note),
            let at = note["at"]?.asMoment
        else { return nil }
        let files = note["files"].elements.compactMap { file -> RuleFile? in
            guard let path = file["path"]?.asString, let text = file["text"]?.asString else { return nil }
            return RuleFile(path: path, bytes: Array(text.utf8))
        }
        self.init(
            at: at, files: files, connections: note["connections"].texts, sources: note["sources"].texts,
            secrets: note["secrets"].texts,
            settings: (note["settings"]?.asObject ?? [:]).reduce(into: [:]) { $0[$1.0] = $1.1.asString })
    }

    func keep(in store: any Store) async throws(StoreError) {
        func names(_ list: [String]) -> JSON { .array(list.map(JSON.string)) }
        let json: JSON = [
            "at": .string(at.rfc3339), "connections": names(connections), "sources": names(sources), "secrets": names(secrets),
            "settings": .object(settings.sorted { $0.key < $1.key }.reduce(into: [:]) { $0[$1.key] = .string($1.value) }),
            "files": .array(
                files.map { ["path": .string($0.path), "text": .string(String(decoding: $0.bytes, as: UTF8.self))] }),
        ]
        try await store.writeNote(Self.note, to: json)
    }
}

extension ConfigurationLoader {
    /// The fingerprints of the settings of a bellhop.yaml, by their places.
    static func fingerprints(_ bytes: [UInt8]) -> [String: String] {
        guard let root = root(of: bytes)?.mapping else { return [:] }
        var found: [String: String] = [:]
        for key in root where key.name != "version" {
            guard ["connections", "sources"].contains(key.name), let entries = key.value.mapping else {
                found[key.name] = "\(Fingerprint(content: RuleParts.text(key.value)))"
                continue
            }
            for entry in entries {
                found["\(key.name)/\(entry.name)"] = "\(Fingerprint(content: RuleParts.text(entry.value)))"
            }
        }
        return found
    }
}
