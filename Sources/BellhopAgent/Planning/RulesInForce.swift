public import BellhopCore
import YAML
public import BellhopRules

/// The rule files that an agent put in force last, and the names around them: a note in the store, so that it can be read when no agent
/// runs.
public struct RulesInForce: Sendable, Hashable {
    public var at: Timestamp
    public var files: [RuleFile]
    public var connections: [String]
    public var sources: [String]
    /// The names of secrets, never their values.
    public var secrets: [String]

    static let note = "rules in force"

    public init(at: Timestamp, files: [RuleFile], connections: [String], sources: [String], secrets: [String]) {
        (self.at, self.files, self.connections, self.sources, self.secrets) = (at, files, connections, sources, secrets)
    }

    /// What a configuration and its files would put in force.
    public init(_ configuration: Configuration, _ files: [RuleFile], at now: Timestamp) {
        self.init(
            at: now, files: files.filter { !$0.isTest }, connections: configuration.connections.map(\.name).sorted(),
            sources: (configuration.sources.map(\.name) + configuration.inbound.sources).sorted(),
            secrets: configuration.content.map(ConfigurationLoader.secretNames) ?? [])
    }

    /// Reads what the store notes; nil if no agent of this version has run.
    public init?(in store: any Store) async throws(StoreError) {
        let note: JSON?
        do {
            note = try await store.note(Self.note)
        } catch {
            throw error as? StoreError ?? StoreError(.other, "\(error)")
        }
        guard let note, let at = note["at"]?.asString.flatMap({ Timestamp(rfc3339: $0) }) else { return nil }
        func names(_ key: String) -> [String] { note[key]?.asArray?.compactMap(\.asString) ?? [] }
        let files = (note["files"]?.asArray ?? []).compactMap { file -> RuleFile? in
            guard let path = file["path"]?.asString, let text = file["text"]?.asString else { return nil }
            return RuleFile(path: path, bytes: Array(text.utf8))
        }
        self.init(
            at: at, files: files, connections: names("connections"), sources: names("sources"), secrets: names("secrets"))
    }

    func keep(in store: any Store) async throws(StoreError) {
        func names(_ list: [String]) -> JSON { .array(list.map(JSON.string)) }
        let json: JSON = [
            "at": .string(at.rfc3339), "connections": names(connections), "sources": names(sources), "secrets": names(secrets),
            "files": .array(
                files.map { ["path": .string($0.path), "text": .string(String(decoding: $0.bytes, as: UTF8.self))] }),
        ]
        do {
            try await store.setNote(Self.note, to: json)
        } catch {
            throw error as? StoreError ?? StoreError(.other, "\(error)")
        }
    }
}

extension ConfigurationLoader {
    /// The names of the secrets that a bellhop.yaml refers to.
    static func secretNames(_ bytes: [UInt8]) -> [String] {
        guard let root = (try? YAML.parse(SourceText(bytes)))?.first?.root else { return [] }
        return Set(references(in: root).filter { $0.space == .secret }.map(\.name)).sorted()
    }
}
