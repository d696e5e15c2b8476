import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import YAML

extension ConfigurationReading {
    mutating func sources(
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
            var settings = reader.settings(node, as: ConfigurationManifest.source + manifest.settings, of: "source `\(name)`")
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
                    cadence: cadence(settings, node), spacing: settings.record("push")?.duration("spacing") ?? .seconds(5),
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
