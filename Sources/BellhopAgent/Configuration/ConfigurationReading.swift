import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import YAML

/// One reading of bellhop.yaml: builds the configuration and collects the problems.
struct ConfigurationReading {
    let file: String
    private let folder: String
    private let resolver: SecretResolver
    private let lines: ShownLines
    var reader: SettingsReader<Never>
    /// The values of all `${{ secret.NAME }}` in the file.
    let secrets: [String]
    var inbound: InboundReading
    /// The file's time zone, read before the sources.
    private(set) var zoneName = "UTC"

    init(
        file: String, folder: String, values: SecretResolver.Found, resolver: SecretResolver, lines: ShownLines,
        hasPlaceholders: Bool
    ) {
        self.file = file
        self.folder = folder
        self.resolver = resolver
        self.lines = lines
        secrets = values.values.filter { $0.key.space == .secret }.map(\.value).sorted()
        inbound = InboundReading(secrets: secrets)
        reader = SettingsReader(file: file, hidesValues: true, checksNumbers: true) { node, text, setting in
            if text == ConfigurationManifest.placeholder {
                // Without an example, a text that is valid as a password and as an address.
                if hasPlaceholders { return .text(setting.exampleValue ?? "https://placeholder.invalid") }
                let place = Diagnostic.Place(node, file: file)
                return .refused([
                    Diagnostic(
                        code: "placeholder", "`\(setting.name)` still has the value that `bellhop init` wrote", at: place,
                        help: setting.summary)
                ])
            }
            let interpolated: String
            do throws(Diagnostics) {
                interpolated = try Self.interpolate(
                    text, in: node, file: file, values: values, resolver: resolver, hasPlaceholders: hasPlaceholders)
            } catch {
                return .refused(error.all)
            }
            return Self.references(in: text).map { .hidden(interpolated, name: $0) } ?? .text(interpolated)
        }
    }

    var diagnostics: Diagnostics { reader.diagnostics }

    mutating func configuration(_ root: Node, secretStores: [SecretStore], keychain: Keychain) -> Configuration {
        let outdented = outdented(in: root)
        let settings = reader.settings(
            root, as: ConfigurationManifest.root, of: "bellhop.yaml",
            besides: ConfigurationManifest.others.union(outdented.flatMap(\.names)))
        zoneName = settings.text("timezone") ?? "UTC"
        inbound.declare(root["events"], &reader)
        inbound.listen(settings.record("inbound"), at: root["inbound"], &reader)
        let connections = connections(root["connections"])
        let sources = sources(
            root["sources"], connections: connections,
            named: (root["connections"]?.mapping?.names ?? []) + outdented.flatMap(\.names))
        let retention = settings.record("retention")
        var places = SettingPlaces()
        for section in ["connections", "sources", "console"] {
            guard let mapping = root[section]?.mapping else { continue }
            for pair in mapping {
                places.add(pair.value, key: pair.key, at: [section, pair.name]) {
                    lines.shown(Diagnostic.Place($0, file: file))
                }
            }
        }
        var configuration = Configuration(
            file: file, folder: folder, store: store(settings, root), rules: settings.texts("rules").map(path),
            logFolders: settings.texts("log_folders").map(path), timeZoneName: zoneName,
            timeZone: Self.zone(zoneName, at: root["timezone"], &reader) ?? .utc, secretStores: secretStores,
            connections: connections, sources: sources,
            retention: Retention(
                events: retention?.duration("events") ?? .days(30), deliveries: retention?.duration("deliveries") ?? .days(30),
                forgotten: retention?.duration("forgotten") ?? .days(400), audit: retention?.duration("audit") ?? .days(400)),
            largestDelivery: settings.integer("max_delivery") ?? RuleContext.largestDelivery, places: places,
            keychain: keychain)
        if let most = retention?.integer("keys") { configuration.maxKeys = most }
        configuration.allowsExec = settings.boolean("allow_exec") ?? false
        configuration.inbound = inbound.configuration
        configuration.console = ConsoleReading(path: path).configuration(settings.record("console"), root["console"], &reader)
        configuration.telemetry = TelemetryReading(path: path).configuration(
            settings.record("telemetry"), root["telemetry"], &reader)
        configuration.calendars = CalendarReading(file: file, folder: folder, zone: configuration.timeZone) {
            ConfigurationReading.zone($0, at: $1, &$2)
        }.entries(settings.record("calendars"), root["calendars"], &reader)
        configuration.quiet = QuietReading(file: file, zone: configuration.timeZone).entries(
            connections, root["connections"], among: configuration.calendars, &reader)
        configuration.silences = SilenceReading(file: file, zone: configuration.timeZone, zoneName: zoneName).entries(
            root["silences"], connections: connections.map(\.name), &reader)
        configuration.events = inbound.events
        return configuration
    }

    /// The references in a text, for messages; nil if it has none.
    static func references(in text: String) -> String? {
        let names = Interpolation.parts(of: text).compactMap { part in
            if case .reference(let reference, _) = part { "${{ \(reference.space.rawValue).\(reference.name) }}" } else { nil }
        }
        return names.isEmpty ? nil : names.listed
    }

    /// A value as messages may show it. If the file has references such as `${{ secret.NAME }}`, shows these and not their values.
    static func shown(_ value: String, of node: Node) -> String {
        guard let written = node.scalarText, references(in: written) != nil else { return "`\(value)`" }
        return "`\(written)`"
    }

    private func path(_ path: String) -> String { path.hasPrefix("/") ? path : folder + path }

    /// Reports `connections:` or `sources:` with nothing under them, followed by keys that belong under them.
    private mutating func outdented(in root: Node) -> [Outdented] {
        guard let mapping = root.mapping else { return [] }
        let known = ConfigurationManifest.others.union(ConfigurationManifest.root.map(\.name))
        return ["connections", "sources"].compactMap { key in
            guard let head = mapping[key],
                let found = Outdented(
                    head, in: mapping, belongs: { !known.contains($0.name) && ($0.value["kind"] != nil || $0.value.isNull) })
            else { return nil }
            reader.report(found.diagnostic(file: file, hidesValues: true))
            return found
        }
    }

    /// Reports names with nothing under them, followed by the settings that belong under them.
    mutating func outdented(in mapping: Mapping, of settings: [Setting]) -> Set<String> {
        let names = settings.map(\.name)
        return mapping.reduce(into: []) { reported, pair in
            let belongs = { (other: Mapping.Pair) in names.contains(other.name) && other.value["kind"] == nil }
            guard let found = Outdented(pair, in: mapping, belongs: belongs) else { return }
            reader.report(found.diagnostic(file: file, hidesValues: true))
            reported.formUnion(found.names.union([pair.name]))
        }
    }

    private mutating func store(_ settings: Settings, _ root: Node) -> String {
        let store = settings.text("store") ?? "bellhop.db"
        if store.hasPrefix("postgres:") || store.hasPrefix("postgresql:"), let node = root["store"] {
            reader.report(code: "not-built-yet", "a store on PostgreSQL is not built yet", at: node, help: "name a SQLite file")
        }
        if store.isEmpty, let node = root["store"] {
            reader.report(
                code: "wrong-value", "`store` does not name a file", at: node, help: "write, for example, `store: bellhop.db`")
        }
        return path(store)
    }

    /// The zone of this name; nil, with a report, if there is none.
    static func zone(_ name: String, at node: Node?, _ reader: inout SettingsReader<Never>) -> TimeZoneTable? {
        if let zone = ZoneFiles.zone(name) { return zone }
        if let node {
            reader.report(
                code: "unknown-time-zone", "there is no time zone \(shown(name, of: node))", at: node,
                help: "write a name such as `Europe/Berlin`; the package tzdata contains the names")
        }
        return nil
    }
}
