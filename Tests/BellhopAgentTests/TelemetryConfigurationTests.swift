import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopInbound
import BellhopTelemetry
import Testing

@Suite struct `Telemetry in bellhop.yaml` {
    private static func file(_ telemetry: String) -> String {
        """
        version: 1
        telemetry: \(telemetry)
        connections: {snow: {kind: servicenow, instance: acme, auth: {basic: {username: a, password: b}}}}
        sources: {my-work: {kind: tracker, connection: snow}}
        """
    }

    private func load(_ telemetry: String) async throws -> TelemetryConfiguration {
        try await ConfigurationTests().load(Self.file(telemetry)).telemetry
    }

    private func problems(_ telemetry: String) async throws -> [String] {
        try await ConfigurationTests().problems(Self.file(telemetry))
    }

    @Test func `the address to listen at, the receiver and its options are read`() async throws {
        let telemetry = try await load(
            #"{listen: "0.0.0.0:9464", otlp: "https://otel.example/base", sample: 0.25, metrics: false, headers: {X-Key: abc}}"#)
        #expect(telemetry.place == .init(host: "0.0.0.0", port: 9464))
        let receiver = try #require(telemetry.receiver)
        #expect(receiver.address.path == "/base" && receiver.headers["X-Key"] == "abc")
        #expect(receiver.sampling?.ratio == 0.25 && !receiver.sendsMetrics)
    }

    @Test func `by default a tenth of the traces and all metrics are sent, and no port is opened`() async throws {
        let telemetry = try await load("{otlp: \"http://127.0.0.1:4318\"}")
        #expect(telemetry.place == nil)
        #expect(telemetry.receiver?.sampling?.ratio == 0.1 && telemetry.receiver?.sendsMetrics == true)
        #expect(try await load("{otlp: \"http://127.0.0.1:4318\", traces: false}").receiver?.sampling == nil)
        #expect(try await load("{listen: \"127.0.0.1:9464\"}").receiver == nil)
    }

    @Test func `invalid addresses, shares and headers are refused, and so is plain http to another machine`() async throws {
        for telemetry in [
            "{listen: here}", "{otlp: otel.example}", "{otlp: \"http://127.0.0.1:4318/v1/traces\"}",
            "{otlp: \"http://otel.example:4318\"}", "{otlp: \"https://otel.example\", sample: 2}",
            "{otlp: \"https://otel.example\", sample: some}", "{otlp: \"https://otel.example\", headers: {Host: a}}",
        ] { #expect(try await problems(telemetry).count == 1, "\(telemetry)") }
        #expect(try await problems("{otlp: \"http://otel.example:4318\", plain_http: true}") == [])
    }
}
