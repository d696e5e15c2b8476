public import BellhopCore
import BellhopConnectors
import BellhopRules
import YAML

/// The part of bellhop.yaml that read-only commands need: the store and the time zone.
public struct StorePlace: Sendable {
    public var store: String
    public var zone: TimeZoneTable
    /// The connections by name, as far as the file can be read; references to secrets and variables are not filled in.
    public var connections: [String: Configuration.ConnectionEntry]
    /// The types of events that the file declares, as far as it can be read.
    public var events: [String]
    /// The names of the console's users in the file, as far as it can be read.
    public var users: [String]
}

extension ConfigurationLoader {
    /// Reads only `store:`, `timezone:` and the connections: other mistakes do not matter.
    public func storePlace(_ file: String) throws(ConfigurationError) -> StorePlace {
        let bytes = try bytes(of: file)
        let root = Self.root(of: bytes)
        func value(_ key: String) -> String? { Self.value(of: key, in: bytes) }
        var store = ""
        for part in Interpolation.parts(of: value("store") ?? "bellhop.db") {
            switch part {
            case .text(let text): store += text
            case .reference(let reference, _) where reference.space == .env && environment[reference.name] != nil:
                store += environment[reference.name] ?? ""
            case .reference, .other, .open:
                throw .unreadable("The store cannot be determined from `store:` in \(file): `bellhop check` says more.")
            }
        }
        if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:") {
            throw .unreadable("A store on PostgreSQL is not built yet: name a SQLite file in \(file).")
        }
        if store.isEmpty { store = "bellhop.db" }
        return StorePlace(
            store: store.hasPrefix("/") ? store : PathText.prefix(of: file) + store,
            zone: value("timezone").flatMap(ZoneFiles.zone) ?? .utc, connections: Self.connections(root?["connections"], file),
            events: root?["events"]?.mapping?.names ?? [],
            users: (root?["console"]?["users"]?.items ?? []).compactMap { $0["name"]?.scalarText })
    }

    private static func connections(_ node: Node?, _ file: String) -> [String: Configuration.ConnectionEntry] {
        (node?.mapping?.pairs ?? []).reduce(into: [:]) { found, pair in
            guard let kind = pair.value["kind"]?.scalarText else { return }
            var reader = SettingsReader<Never>(file: file, hidesValues: true) { _, text, _ in .text(text) }
            let manifest = Catalogue.connections.first { $0.kind == kind }
            let settings = reader.settings(pair.value, as: manifest?.settings ?? [], of: "", besides: ["kind"])
            found[pair.name] = Configuration.ConnectionEntry(name: pair.name, kind: kind, settings: settings)
        }
    }

    /// The project that a file names; nil if it names none. Throws if its `project` is wrong: other mistakes do not matter.
    public func project(of file: String) throws(ConfigurationError) -> Keychain.Project? {
        guard let root = Self.root(of: try bytes(of: file), having: ProjectLine.key), let node = root[ProjectLine.key],
            let setting = ConfigurationManifest.root.first(where: { $0.name == ProjectLine.key })
        else { return nil }
        var reader = SettingsReader<Never>(file: file, hidesValues: true) { _, text, _ in .text(text) }
        _ = reader.read(node, as: setting)
        if reader.diagnostics.hasErrors {
            throw .diagnostics(Diagnostics(reader.diagnostics.all.map(ShownLines(root).shown)))
        }
        return Self.project(node.scalarText, of: file)
    }

    /// The project with this id, if any.
    static func project(_ id: String?, of file: String) -> Keychain.Project? {
        id.map { Keychain.Project(id: $0, file: SharedFile.resolved(file)) }
    }

    /// The value of a top-level key, even in a file with mistakes.
    static func value(of key: String, in bytes: [UInt8]) -> String? { root(of: bytes, having: key)?[key]?.scalarText }

    /// The root of a file; if the file is not valid YAML, of only its line with a top-level key.
    private static func root(of bytes: [UInt8], having key: String) -> Node? {
        if let root = root(of: bytes) { return root }
        // By bytes: the end of a line in files from Windows is another character than `\n`.
        let newline = UInt8(ascii: "\n")
        let lines = bytes.split(separator: newline, omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() where line.starts(with: "\(key):".utf8) {
            // With as many lines before it, so that a problem has its place.
            let text = Array(repeating: newline, count: number) + line
            if let document = try? YAML.parse(SourceText(text)).first { return document.root }
        }
        return nil
    }
}
