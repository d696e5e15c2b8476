public import BellhopCore
import BellhopConnectors
import BellhopRules
import YAML

/// Reads bellhop.yaml and reports all problems at once, each with its place.
public struct ConfigurationLoader: Sendable {
    let environment: [String: String]
    private let keychain: Keychain
    private let timeout: Duration

    /// - Parameter timeout: how long a command may take to print a secret.
    public init(environment: [String: String], keychain: Keychain, timeout: Duration = .seconds(30)) {
        (self.environment, self.keychain, self.timeout) = (environment, keychain, timeout)
    }

    /// How much of the file must be valid.
    public enum Focus: Sendable, Hashable {
        case everything
        /// Only this connection and its sources: the others may lack their secrets.
        case connection(String)
        /// Only this source: everything else may lack its secrets.
        case source(String)
        /// Only the structure, to check rules: placeholders replace missing secrets and variables.
        case shape
    }

    public func load(_ file: String, focus: Focus = .everything) async throws(ConfigurationError) -> Configuration {
        let bytes = try bytes(of: file)
        var configuration = try await load(bytes, file: file, focus: focus)
        configuration.content = bytes
        return configuration
    }

    func bytes(of file: String) throws(ConfigurationError) -> [UInt8] {
        let bytes = try rethrowing(as: { ConfigurationError.unreadable($0.message) }) { () throws(PrivateFile.FileError) in
            try PrivateFile.readAny(file)
        }
        guard let bytes else {
            let advice =
                file == "bellhop.yaml"
                ? "run `bellhop init` to make one, or name yours with --config"
                : "name your configuration with --config, or run `bellhop init` to make a bellhop.yaml"
            throw .unreadable("There is no \(file) here: \(advice).")
        }
        return bytes
    }

    /// - Parameter file: the path as the user would type it; relative paths in it are relative to its folder.
    public func load(
        _ bytes: [UInt8], file: String, focus: Focus = .everything
    ) async throws(ConfigurationError) -> Configuration {
        let root = try Self.root(of: bytes, file: file)
        var problems = Diagnostics()
        let keychain = keychain.of(Self.project(root[ProjectLine.key]?.scalarText, of: file))
        let stores = Self.secretStores(root["secrets"], file: file, folder: PathText.prefix(of: file), &problems)
        let resolver = SecretResolver(environment: environment, stores: stores, keychain: keychain, timeout: timeout)
        let values = try await rethrowing(as: ConfigurationError.secret) { () async throws(SecretError) in
            try await resolver.resolve(Self.references(in: root, for: focus))
        }
        let lines = ShownLines(root)
        var reading = ConfigurationReading(
            file: file, folder: PathText.prefix(of: file), values: values, resolver: resolver, lines: lines,
            hasPlaceholders: focus == .shape)
        var configuration = reading.configuration(root, secretStores: stores, keychain: keychain)
        func isIncomplete(_ name: String, in section: String) -> Bool {
            root[section]?[name].map { Self.isIncomplete($0, values) } ?? false
        }
        for place in configuration.connections.indices {
            let name = configuration.connections[place].name
            configuration.connections[place].hasPlaceholders = isIncomplete(name, in: "connections")
        }
        for place in configuration.sources.indices {
            configuration.sources[place].hasPlaceholders = isIncomplete(configuration.sources[place].name, in: "sources")
        }
        problems.report(reading.diagnostics)
        problems.all = problems.all.map(lines.shown)
        problems.all.sort { ($0.place?.line ?? 0, $0.place?.column ?? 0) < ($1.place?.line ?? 0, $1.place?.column ?? 0) }
        switch focus {
        case .connection(let name):
            problems.removeProblems(in: Self.incomplete(in: root, values, except: Self.nodes(of: name, in: root)))
        case .source(let name):
            problems.removeProblems(in: Self.incomplete(in: root, values, except: root["sources"]?[name].map { [$0] } ?? []))
        case .shape: problems.removeProblems(in: Self.incompleteScalars(in: root, values))
        case .everything: break
        }
        if problems.hasErrors { throw .diagnostics(problems) }
        return configuration
    }

    /// Bellhop's own events and those that a file declares, even if the file has mistakes elsewhere; nil if it is not YAML.
    public func events(declaredIn file: String) -> EventCatalogue? {
        guard let bytes = try? bytes(of: file), let root = try? Self.root(of: bytes, file: file) else { return nil }
        var reader = SettingsReader<Never>(file: file, hidesValues: true) { _, text, _ in .text(text) }
        var reading = InboundReading(secrets: [])
        reading.declare(root["events"], &reader)
        return reading.events
    }

    private static func root(of bytes: [UInt8], file: String) throws(ConfigurationError) -> Node {
        let source = SourceText(bytes)
        let documents = try rethrowing(as: { ConfigurationError.diagnostics(ShownLines.problems($0, in: source, file: file)) }) {
            () throws(YAMLErrors) in
            try YAML.parse(source, keys: ConfigurationManifest.known)
        }
        guard let document = documents.first, !document.isEmpty else {
            throw .unreadable("\(file) is empty: run `bellhop init` in another folder to see an example.")
        }
        if documents.count > 1 {
            var place = Diagnostic.Place(documents[1].root, file: file)
            place.excerpt = nil
            throw .diagnostics(
                Diagnostics([
                    Diagnostic(code: "several-documents", "bellhop.yaml takes one document; a second starts here", at: place)
                ]))
        }
        return document.root
    }

    /// The root of a file that is valid YAML, whatever its content; else nil.
    static func root(of bytes: [UInt8]) -> Node? { (try? YAML.parse(SourceText(bytes)))?.first?.root }

    /// The references to resolve. Secrets that are not needed are left out.
    private static func references(in root: Node, for focus: Focus) -> Set<Interpolation.Reference> {
        switch focus {
        case .everything: references(in: root)
        case .shape: references(in: root).filter { $0.space == .env }
        case .connection(let name): references(in: root).filter { $0.space == .env }.union(references(of: name, in: root))
        case .source(let name):
            references(in: root).filter { $0.space == .env }.union(root["sources"]?[name].map { references(in: $0) } ?? [])
        }
    }

    /// The names of the secrets that a connection and the sources that read from it refer to.
    static func secretNames(ofConnection name: String, in bytes: [UInt8]) -> Set<String> {
        root(of: bytes).map { secretNames(in: nodes(of: name, in: $0)) } ?? []
    }

    /// The names of the secrets that a source itself, not its connection, refers to.
    static func secretNames(ofSource name: String, in bytes: [UInt8]) -> Set<String> {
        root(of: bytes)?["sources"]?[name].map { secretNames(in: [$0]) } ?? []
    }

    /// The keys of the root that refer to a secret, besides `connections` and `sources`.
    static func sections(with secret: String, in bytes: [UInt8]) -> [String] {
        (root(of: bytes)?.mapping?.pairs ?? []).filter { pair in
            !["connections", "sources"].contains(pair.name) && secretNames(in: [pair.value]).contains(secret)
        }.map(\.name)
    }

    /// The names of all secrets that a bellhop.yaml refers to.
    static func secretNames(in bytes: [UInt8]) -> Set<String> { root(of: bytes).map { secretNames(in: [$0]) } ?? [] }

    private static func secretNames(in nodes: [Node]) -> Set<String> {
        Set(nodes.flatMap { references(in: $0) }.filter { $0.space == .secret }.map(\.name))
    }

    /// The references of a connection and of the sources that read from it.
    private static func references(of connection: String, in root: Node) -> Set<Interpolation.Reference> {
        nodes(of: connection, in: root).reduce(into: []) { $0.formUnion(references(in: $1)) }
    }

    /// A connection and the sources that read from it.
    private static func nodes(of connection: String, in root: Node) -> [Node] {
        let sources = root["sources"]?.mapping?.pairs.map(\.value).filter { $0["connection"]?.scalarText == connection } ?? []
        return (root["connections"]?[connection].map { [$0] } ?? []) + sources
    }

    /// The connections, sources and other top-level values that lack a secret or a variable, or still have a placeholder. Leaves out
    /// those that are needed.
    private static func incomplete(in root: Node, _ values: SecretResolver.Found, except needed: [Node]) -> [Node] {
        let entries = (root.mapping?.pairs ?? []).flatMap { pair in
            guard ["connections", "sources"].contains(pair.name), let entries = pair.value.mapping else { return [pair.value] }
            return entries.pairs.map(\.value)
        }
        let neededRanges = needed.map(\.range)
        return entries.filter { !neededRanges.contains($0.range) && isIncomplete($0, values) }
    }

    /// Whether a value lacks a secret or a variable, or is still a placeholder.
    private static func isIncomplete(_ node: Node, _ values: SecretResolver.Found) -> Bool {
        references(in: node).contains { values.values[$0] == nil } || hasPlaceholder(node)
    }

    /// The scalars that lack a secret or a variable, or are still a placeholder, so that their values need not fit their settings.
    private static func incompleteScalars(in node: Node, _ values: SecretResolver.Found) -> [Node] {
        switch node.content {
        case .scalar: isIncomplete(node, values) ? [node] : []
        case .sequence(let items): items.flatMap { incompleteScalars(in: $0, values) }
        case .mapping(let pairs): pairs.flatMap { incompleteScalars(in: $0.value, values) }
        }
    }

    private static func hasPlaceholder(_ node: Node) -> Bool {
        switch node.content {
        case .scalar(let scalar): scalar.text == ConfigurationManifest.placeholder
        case .sequence(let items): items.contains(where: hasPlaceholder)
        case .mapping(let pairs): pairs.contains { hasPlaceholder($0.value) }
        }
    }

    static func references(in node: Node) -> Set<Interpolation.Reference> {
        switch node.content {
        case .scalar(let scalar):
            Set(
                Interpolation.parts(of: scalar.text).compactMap { part in
                    if case .reference(let reference, _) = part { reference } else { nil }
                })
        case .sequence(let items): items.reduce(into: []) { $0.formUnion(references(in: $1)) }
        case .mapping(let pairs): pairs.reduce(into: []) { $0.formUnion(references(in: $1.value)) }
        }
    }

    /// Reads `secrets:`, before the references are resolved. So `${{ }}` is not possible in it.
    private static func secretStores(
        _ node: Node?, file: String, folder: String, _ problems: inout Diagnostics
    ) -> [SecretStore] {
        guard let node else { return [.keychain] }
        let place = Diagnostic.Place(node, file: file)
        guard let items = node.items else {
            problems.report(
                Diagnostic(code: "wrong-type", "`secrets` must be a list", at: place, help: "write `secrets: [keychain]`"))
            return []
        }
        return items.compactMap { item in
            if item.scalarText == "keychain" { return .keychain }
            if let path = item["folder"]?.scalarText, item.mapping?.count == 1 {
                return .folder(path.hasPrefix("/") ? path : folder + path)
            }
            if let command = item["command"], item.mapping?.count == 1 {
                let words = command.items?.compactMap(\.scalarText) ?? command.scalarText.map { [$0] } ?? []
                if let program = words.first { return .command([Self.program(program, folder)] + words.dropFirst()) }
            }
            problems.report(
                Diagnostic(
                    code: "unknown-secret-store", "this is not a secret store", at: Diagnostic.Place(item, file: file),
                    help: "write `keychain`, `folder: /run/secrets` or `command: [pass, show]`"))
            return nil
        }
    }

    /// The program to start: a relative path is relative to the folder of bellhop.yaml, as all paths are.
    private static func program(_ name: String, _ folder: String) -> String {
        guard name.contains("/"), !name.hasPrefix("/"), !folder.isEmpty else { return name }
        return folder + (name.hasPrefix("./") ? String(name.dropFirst(2)) : name)
    }

    /// The paths of a configuration's rules: enough to check them while the rest of the file has mistakes.
    public func rulePlaces(_ file: String) -> [String] {
        let node = (try? bytes(of: file)).flatMap(Self.root(of:))?["rules"]
        let named = node?.items?.compactMap(\.scalarText) ?? node?.scalarText.map { [$0] } ?? []
        let paths = named.filter { !$0.isEmpty && !$0.contains("${{") }
        return (paths.isEmpty ? ["rules"] : paths).map { $0.hasPrefix("/") ? $0 : PathText.prefix(of: file) + $0 }
    }
}

extension Diagnostics {
    /// Removes the problems in values that need not be complete, such as missing secrets.
    mutating func removeProblems(in nodes: [Node]) {
        all.removeAll { problem in
            guard let place = problem.place else { return false }
            let start = (place.line, place.column)
            return nodes.contains { node in
                let (first, last) = (node.range.start, node.range.end)
                return (first.line, first.column) <= start && start <= (last.line, last.column)
            }
        }
    }
}
