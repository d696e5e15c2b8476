public import BellhopConnectors
public import BellhopCore
public import BellhopInbound
import BellhopRules
public import BellhopTelemetry
import YAML

/// Which telemetry the agent offers and sends, from bellhop.yaml.
public struct TelemetryConfiguration: Sendable {
    /// Where `/metrics` and `/health` are served without a login; nil to serve them only in the console.
    public var place: InboundServer.Address?
    /// The OpenTelemetry receiver; nil if there is none.
    public var receiver: Receiver?

    public init() {}

    /// An OpenTelemetry receiver that takes OTLP over HTTP.
    public struct Receiver: Sendable, Hashable {
        /// Its address, without `/v1/traces`.
        public var address: HTTPAddress
        public var headers: HeaderFields
        public var plainHTTP: Bool
        /// A PEM file with authorities to trust in addition to the system's.
        public var ca: String?
        /// Nil to send no traces.
        public var sampling: TraceSampling?
        public var sendsMetrics: Bool
    }
}

extension ConfigurationManifest {
    public static let telemetry: [Setting] = [
        Setting(
            "listen", .text, "The address and port where `/metrics` and `/health` are served without a login.",
            example: "listen: \"127.0.0.1:9464\""),
        Setting(
            "otlp", .secret,
            "The address of an OpenTelemetry receiver (OTLP over HTTP, JSON), without `/v1/traces`: `http://127.0.0.1:4318`."),
        Setting("traces", .boolean, default: "true", "Whether to send traces."),
        Setting("metrics", .boolean, default: "true", "Whether to send metrics."),
        Setting(
            "sample", .number(0...1), default: "0.1",
            "Which part of the traces is sent, from 0 to 1; each trace is sent whole or not at all."),
        Setting(
            "headers", .map(.secret), refusedNames: HeaderFields.reserved, "Header fields for the receiver, such as a token."),
        Setting("ca", .path, "A PEM file with certificate authorities to trust in addition to the system's."),
        Setting("plain_http", .boolean, default: "false", "Whether to send over plain http:// to another machine."),
    ]
}

struct TelemetryReading {
    /// Resolves a path in the file against the file's folder.
    let path: (String) -> String

    func configuration(
        _ settings: Settings?, _ node: Node?, _ reader: inout SettingsReader<Never>
    ) -> TelemetryConfiguration {
        var telemetry = TelemetryConfiguration()
        guard let settings, let node else { return telemetry }
        telemetry.place = InboundServer.Address.read(settings, node, port: 9464, &reader)
        telemetry.receiver = receiver(settings, node, &reader)
        return telemetry
    }

    private func receiver(
        _ settings: Settings, _ node: Node, _ reader: inout SettingsReader<Never>
    ) -> TelemetryConfiguration.Receiver? {
        guard let otlp = settings.text("otlp") else { return nil }
        let address: HTTPAddress
        do throws(InvalidValue) {
            address = try HTTPAddress(otlp)
        } catch {
            reader.report(
                code: "wrong-value", "`otlp` is not an http or https address: \(error.message)", at: node["otlp"] ?? node,
                help: "write `otlp: http://127.0.0.1:4318`")
            return nil
        }
        if address.target.contains("/v1/") {
            reader.report(
                code: "wrong-value", "`otlp` is the address of one kind of data", at: node["otlp"] ?? node,
                help: "leave out `/v1/…`: Bellhop adds `/v1/traces` and `/v1/metrics`")
        }
        var headers: HeaderFields = [:]
        for (name, value) in settings.record("headers")?.values ?? [:] { headers.add(name, value.asString ?? "") }
        let receiver = TelemetryConfiguration.Receiver(
            address: address, headers: headers, plainHTTP: settings.boolean("plain_http") ?? false,
            ca: settings.text("ca").map(path),
            sampling: settings.boolean("traces") ?? true ? TraceSampling(settings.number("sample") ?? 0.1) : nil,
            sendsMetrics: settings.boolean("metrics") ?? true)
        if let refusal = receiver.http.refusal(of: address) {
            reader.report(code: "plain-http", refusal, at: node["otlp"] ?? node)
        }
        return receiver
    }
}

extension TelemetryConfiguration.Receiver {
    var http: HTTPConnection.Configuration {
        HTTPConnection.Configuration(
            name: "telemetry", ca: ca, timeout: .seconds(10), headers: headers, plainHTTP: plainHTTP, maxBody: 1 << 20)
    }
}
