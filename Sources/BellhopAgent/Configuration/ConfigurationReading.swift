import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import YAML

/// One reading of bellhop.yaml: builds the configuration and collects the problems.
struct ConfigurationReading {
    private let file: String
    private let folder: String
    private let resolver: SecretResolver
    private let lines: ShownLines
    private var reader: SettingsReader<Never>
    /// The values of all `${{ secret.NAME }}` in the file.
    private let secrets: [String]
    private var inbound: InboundReading
    /// The file's time zone, read before the sources.
    private var zoneName = "UTC"

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
        reader = SettingsReader(file: file, hidesValues: true) { node, text, setting in
            if text == ConfigurationManifest.placeholder {
                // Valid as a password and as an address.
                if hasPlaceholders { return .text("https://placeholder.invalid") }
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
            logFolders: settings.texts("log_folders").map(path),
            timeZoneName: zoneName, timeZone: Self.zone(zoneName, at: root["timezone"], &reader) ?? .utc,
            secretStores: secretStores,
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
        }.entries(
            settings.record("calendars"), root["calendars"], &reader)
        configuration.quiet = QuietReading(file: file, zone: configuration.timeZone).entries(
            connections, root["connections"], among: configuration.calendars, &reader)
        configuration.silences = SilenceReading(file: file, zone: configuration.timeZone, zoneName: zoneName).entries(
            root["silences"], connections: connections.map(\.name), &reader)
        configuration.events = inbound.events
        return configuration
    }

    /// The references in a text, for messages; nil if it has none.
    private static func references(in text: String) -> String? {
        let names = Interpolation.parts(of: text).compactMap { part in
            if case .reference(let reference, _) = part { "${{ \(reference.space.rawValue).\(reference.name) }}" } else { nil }
        }
        return names.isEmpty ? nil : names.listed
    }

    /// A value as messages may show it. If the file has references such as `${{ secret.NAME }}`, shows these and not their values.
    private static func shown(_ value: String, of node: Node) -> String {
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
    private mutating func outdented(in mapping: Mapping, of settings: [Setting]) -> Set<String> {
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

    // MARK: - Connections

    private mutating func connections(_ node: Node?) -> [Configuration.ConnectionEntry] {
        let manifests = Catalogue.connections
        let allSettings = ConfigurationManifest.connection + manifests.flatMap(\.settings)
        let found = entries(node, key: "connections", settings: allSettings).compactMap {
            name, node -> (entry: Configuration.ConnectionEntry, node: Node)? in
            guard
                let manifest = manifest(
                    of: node, subject: "connection `\(name)`", kinds: manifests.map(\.kind))
            else { return nil }
            let declared = ConfigurationManifest.connection + manifests[manifest].settings
            var settings = reader.settings(node, as: declared, of: "connection `\(name)`")
            settings.secrets = secrets
            return (Configuration.ConnectionEntry(name: name, kind: manifests[manifest].kind, settings: settings), node)
        }
        // If the connection exists but has mistakes, only these mistakes are reported.
        let names = node?.mapping?.names ?? []
        for (entry, node) in found { checkOnPaused(entry, node, among: found.map(\.entry), named: names) }
        return found.map(\.entry)
    }

    /// Checks that the connection for messages about a pause exists, takes messages, and is not the paused one.
    private mutating func checkOnPaused(
        _ entry: Configuration.ConnectionEntry, _ node: Node, among all: [Configuration.ConnectionEntry], named names: [String]
    ) {
        guard let other = entry.settings.text("on_paused"), let place = node["on_paused"] else { return }
        let candidates = all.filter { other in
            Catalogue.connections.contains { $0.kind == other.kind && $0.messages != nil } && other.name != entry.name
        }
        let help = candidates.isEmpty ? nil : "use \(candidates.map(\.name).alternatives)"
        if other == entry.name {
            reader.report(
                code: "wrong-connection", "`on_paused` names `\(other)` itself, which sends nothing while it is paused",
                at: place,
                help: help ?? "add another connection that takes messages, and name that one")
        } else if let found = all.first(where: { $0.name == other }) {
            if candidates.contains(where: { $0.name == other }) { return }
            reader.report(
                code: "wrong-connection", "a connection of kind `\(found.kind)` takes no messages", at: place, help: help)
        } else if !names.contains(other) {
            reader.report(
                code: "unknown-connection", "there is no connection \(Self.shown(other, of: place))", at: place,
                help: Suggestion.didYouMean(other, among: candidates.map(\.name)) ?? help)
        }
    }

    /// The pairs of a mapping of names.
    private mutating func entries(_ node: Node?, key: String, settings: [Setting]) -> [(String, Node)] {
        guard let node, !node.isNull else { return [] }
        guard let mapping = node.mapping else {
            reader.report(code: "wrong-type", "`\(key)` must be a mapping of names", at: node)
            return []
        }
        let reported = outdented(in: mapping, of: settings)
        for pair in mapping where !Interpolation.isName(pair.name) {
            reader.report(
                code: "bad-name", "`\(reader.shown(pair.name))` cannot be a name", at: pair.key,
                help: "use letters, digits, `-` and `_`")
        }
        return mapping.filter { !reported.contains($0.name) }.map { ($0.name, $0.value) }
    }

    /// The index in `kinds` of the kind that a node names.
    private mutating func manifest(of node: Node, subject: String, kinds: [String]) -> Int? {
        guard let mapping = node.mapping else {
            reader.report(
                code: "wrong-type", "\(subject) must be a mapping", at: node, help: "write `\(subject.quoted): {kind: …}`")
            return nil
        }
        guard let kind = mapping["kind"]?.value, let name = kind.scalarText else {
            reader.report(code: "missing-key", "\(subject) needs `kind`", at: node, help: "use \(kinds.alternatives)")
            return nil
        }
        if let index = kinds.firstIndex(of: name) { return index }
        reader.report(
            code: "unknown-kind", "there is no kind `\(name)`", at: kind,
            help: Suggestion.didYouMean(name, among: kinds) ?? "use \(kinds.alternatives)")
        return nil
    }

    // MARK: - Sources

    private mutating func sources(
        _ node: Node?, connections: [Configuration.ConnectionEntry], named names: [String]
    ) -> [Configuration.SourceEntry] {
        let manifests = Catalogue.sources
        let allSettings = ConfigurationManifest.source + manifests.flatMap(\.settings)
        return entries(node, key: "sources", settings: allSettings).compactMap { name, node in
            guard
                let index = manifest(
                    of: node, subject: "source `\(name)`", kinds: manifests.map(\.kind) + [InboundReading.kind])
            else { return nil }
            if index == manifests.count {
                inbound.webhook(name, node, &reader)
                return nil
            }
            let manifest = manifests[index]
            let errors = reader.diagnostics.errorCount
            var settings = reader.settings(
                node, as: ConfigurationManifest.source + manifest.settings, of: "source `\(name)`")
            settings.secrets = secrets
            for complaint in Catalogue.complaints(about: settings, ofSource: manifest.kind) {
                reader.report(complaint, in: node, settings)
            }
            // Settings with mistakes are not reported again by `push`.
            if reader.diagnostics.errorCount == errors { inbound.push(name, settings, node, &reader) }
            let connection = settings.text("connection") ?? ""
            check(connection, of: node, manifest, connections, named: names)
            return Configuration.SourceEntry(
                name: name, kind: manifest.kind, connection: connection, settings: settings,
                plan: PollPlan(
                    cadence: cadence(settings, node),
                    spacing: settings.record("push")?.duration("spacing") ?? .seconds(5),
                    refresh: RefreshPolicy(interval: settings.duration("refresh")),
                    emitsInitial: settings.text("initial") == "emit",
                    storms: StormGuard(mayHold: settings.text("storm") != "off")))
        }
    }

    private mutating func check(
        _ connection: String, of node: Node, _ manifest: SourceManifest, _ connections: [Configuration.ConnectionEntry],
        named names: [String]
    ) {
        guard !connection.isEmpty, let place = node["connection"] else { return }
        guard let entry = connections.first(where: { $0.name == connection }) else {
            // If the connection exists but has mistakes, only these mistakes are reported.
            if names.contains(connection) { return }
            reader.report(
                code: "unknown-connection", "there is no connection \(Self.shown(connection, of: place))", at: place,
                help: Suggestion.didYouMean(connection, among: names) ?? (names.isEmpty ? nil : "use \(names.alternatives)"))
            return
        }
        if !manifest.connections.contains(entry.kind) {
            reader.report(
                code: "wrong-connection",
                "a source of kind `\(manifest.kind)` cannot read from a connection of kind `\(entry.kind)`",
                at: place, help: "it reads from \(manifest.connections.listed)")
        }
    }

    /// The shortest time between two polls, so that they do not overload the tracker.
    private static let shortestInterval = Duration.seconds(1)

    private mutating func cadence(_ settings: Settings, _ node: Node) -> Cadence {
        if let text = settings.text("schedule"), let place = node["schedule"] {
            if let every = node.mapping?["every"] {
                reader.report(code: "both-given", "give either `every` or `schedule`", at: every.key)
            }
            do throws(TimeTextError) {
                let zone = ZoneFiles.zone(zoneName) ?? .utc
                return .cron(try CronSchedule(text), zone)
            } catch {
                if let name = Self.references(in: place.scalarText ?? "") {
                    reader.report(code: "bad-schedule", "the value of \(name) is not a schedule", at: place)
                } else {
                    let place = Diagnostic.Place(place, utf8: error.offset..<error.offset + max(error.length, 1), file: file)
                    reader.report(Diagnostic(code: "bad-schedule", error.message, at: place, help: error.help))
                }
            }
        }
        if let every = settings.record("every"), let busy = every.duration("busy"), let idle = every.duration("idle") {
            return .busyIdle(busy: checked(busy, node), idle: checked(idle, node))
        }
        return .every(checked(settings.duration("every") ?? .seconds(60), node))
    }

    /// Reports an interval that is too short, and returns the shortest one instead.
    private mutating func checked(_ interval: Duration, _ node: Node) -> Duration {
        if interval < Self.shortestInterval, let place = node["every"] {
            reader.report(code: "too-often", "a source is polled at most once a second", at: place, help: "write `1s` or more")
        }
        return max(interval, Self.shortestInterval)
    }
}

extension String {
    /// The name between the backticks of a subject.
    fileprivate var quoted: String { split(separator: "`").dropFirst().first.map(String.init) ?? self }
}
