public import BellhopConnectors
import BellhopCore
public import BellhopInbound
import BellhopRules
import YAML

/// The endpoints at which other systems send events and tasks, as bellhop.yaml declares them.
public struct InboundConfiguration: Sendable {
    /// Nil if nothing listens.
    public var place: InboundServer.Address?
    public var endpoints: [InboundEndpoint] = []
    /// The sources of kind `webhook`, by name.
    public var sources: [String] = []
    /// How items are read, for the sources of kind `webhook` whose items are tasks.
    public var tasks: [String: ItemReading] = [:]
}

/// Reads `inbound`, `events`, and the sources that requests from outside concern.
struct InboundReading {
    /// The kind of sources that receive requests and are not polled.
    static let kind = "webhook"

    let secrets: [String]
    private(set) var configuration = InboundConfiguration()
    private(set) var events = EventCatalogue.builtIn
    private var sourcesByPath: [String: String] = [:]
    /// Whether `inbound` has a `listen`, valid or not. A mistake in it is reported by itself.
    private var hasListen = false

    init(secrets: [String]) { self.secrets = secrets }

    /// Reads the types that the file declares.
    mutating func declare(_ node: Node?, _ reader: inout SettingsReader<Never>) {
        guard let node, !node.isNull else { return }
        guard let mapping = node.mapping else {
            reader.report(code: "wrong-type", "`events` must be a mapping of names", at: node)
            return
        }
        var declared: [EventDefinition] = []
        for pair in mapping {
            let type = EventType(pair.name)
            if EventCatalogue.builtIn[type] != nil || pair.name == InboundSettings.task {
                reader.report(
                    code: "known-event", "Bellhop itself emits `\(pair.name)`", at: pair.key, help: "choose another name")
                continue
            }
            guard Self.isName(pair.name) else {
                reader.report(
                    code: "bad-name", "`\(reader.shown(pair.name))` cannot be the name of an event", at: pair.key,
                    help: "use small letters, digits and `_`")
                continue
            }
            let settings = reader.settings(pair.value, as: InboundSettings.event, of: "event `\(pair.name)`")
            let members = (settings.record("fields")?.values ?? [:]).map { name, type in
                Setting(name, Self.types[type.asString ?? ""] ?? .json, "")
            }
            declared.append(EventDefinition(type, settings.text("description") ?? "", from: .outside, members))
        }
        if !declared.isEmpty { events = EventCatalogue(EventCatalogue.builtIn.definitions + declared) }
    }

    mutating func listen(_ settings: Settings?, at node: Node?, _ reader: inout SettingsReader<Never>) {
        hasListen = node?["listen"] != nil
        if let settings, let node { configuration.place = InboundServer.Address.read(settings, node, port: 8091, &reader) }
    }

    mutating func webhook(_ name: String, _ node: Node, _ reader: inout SettingsReader<Never>) {
        let kind = Setting("kind", .name, required: true, "")
        let errors = reader.diagnostics.errorCount
        var settings = reader.settings(node, as: [kind] + InboundSettings.webhook, of: "source `\(name)`")
        settings.secrets = secrets
        guard reader.diagnostics.errorCount == errors else { return }
        configuration.sources.append(name)
        do throws(SettingComplaints) {
            let endpoint = try InboundSettings.webhook(name, settings, events: events)
            if case .tasks = endpoint.purpose { configuration.tasks[name] = try Self.tasks(name, settings) }
            add(endpoint, of: name, node, &reader)
        } catch {
            for complaint in error.all { reader.report(complaint, in: node, settings) }
        }
    }

    private static func tasks(_ name: String, _ settings: Settings) throws(SettingComplaints) -> ItemReading {
        do throws(ConnectorError) {
            return try ItemReading.sent(settings, source: name)
        } catch {
            let path = (error.setting ?? "").split(separator: ".").map { SettingComplaint.Step.key(String($0)) }
            let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
            throw SettingComplaints([SettingComplaint(code: "wrong-value", message, at: path)])
        }
    }

    /// Reads the `push` of a source that is polled.
    mutating func push(_ name: String, _ settings: Settings, _ node: Node, _ reader: inout SettingsReader<Never>) {
        guard let push = settings.record("push"), let place = node["push"] else { return }
        do throws(SettingComplaints) {
            add(try InboundSettings.push(to: name, push), of: name, place, &reader)
        } catch {
            for complaint in error.all { reader.report(complaint, in: place, push) }
        }
    }

    private mutating func add(_ endpoint: InboundEndpoint, of source: String, _ node: Node, _ reader: inout SettingsReader<Never>)
    {
        let place = node["path"] ?? node
        if let other = sourcesByPath.updateValue(source, forKey: endpoint.path) {
            reader.report(code: "same-path", "source `\(other)` has the path `\(endpoint.path)` too", at: place)
        }
        if !hasListen {
            reader.report(
                code: "not-listening", "nothing listens for requests to `\(endpoint.path)`", at: place,
                help: "add `inbound: {listen: \"127.0.0.1:8091\"}` at the top")
        }
        configuration.endpoints.append(endpoint)
    }

    private static let types: [String: SettingType] = [
        "text": .text, "integer": .integer(Int.min...Int.max), "boolean": .boolean, "json": .json,
    ]

    private static func isName(_ text: String) -> Bool {
        text.utf8.first.map { $0 &- UInt8(ascii: "a") < 26 } ?? false
            && text.utf8.allSatisfy { $0 &- UInt8(ascii: "a") < 26 || $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: "_") }
    }
}

extension InboundServer.Address {
    /// Reads `listen`; nil if it is missing, or is not an address and a port, which is reported.
    /// - Parameter port: the port of the example in the message.
    static func read(
        _ settings: Settings, _ node: Node, port: Int, _ reader: inout SettingsReader<Never>
    ) -> InboundServer.Address? {
        guard let text = settings.text("listen") else { return nil }
        if let place = InboundServer.Address(text) { return place }
        reader.report(
            code: "wrong-value", "`\(text)` is not an address and a port", at: node["listen"] ?? node,
            help: "write `listen: \"127.0.0.1:\(port)\"`")
        return nil
    }
}
