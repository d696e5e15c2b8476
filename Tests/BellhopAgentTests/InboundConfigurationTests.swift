import BellhopAgent
import BellhopCore
import BellhopInbound
import BellhopTesting
import Testing

@Suite struct `The inbound server in bellhop.yaml` {
    private func problems(_ text: String) async throws -> [String] { try await ConfigurationTests().problems(text) }

    private static func file(
        inbound: String = "inbound: {listen: \"127.0.0.1:8091\"}", event: String = "deploy_finished: {fields: {service: text}}",
        source: String = "path: /in/deploys, auth: {bearer: x}, event: deploy_finished", push: String = ""
    ) -> String {
        """
        version: 1
        \(inbound)
        events: {\(event)}
        connections: {snow: {kind: servicenow, instance: acme, auth: {basic: {username: a, password: b}}}}
        sources:
          my-work: {kind: tracker, connection: snow\(push)}
          deploys: {kind: webhook, \(source)}
        """
    }

    @Test func `webhook sources and pushes become endpoints, and webhook sources are not polled`() async throws {
        let push = ", push: {path: /in/snow, auth: {basic: {username: a, password: b}}, rate: 5/s}"
        let configuration = try await ConfigurationTests().load(Self.file(push: push))
        #expect(configuration.sources.map(\.name) == ["my-work"])
        #expect(configuration.inbound.place == .init(host: "127.0.0.1", port: 8091))
        #expect(configuration.inbound.endpoints.map(\.path) == ["/in/snow", "/in/deploys"])
        #expect(configuration.inbound.endpoints.map(\.largestBody) == [64 << 10, 1_000_000])
        #expect(configuration.inbound.sources == ["deploys"])
        #expect(configuration.events[EventType("deploy_finished")]?.members.map(\.name) == ["service"])
    }

    @Test func `the list of events can be the body itself`() async throws {
        let source = "path: /in/deploys, auth: {bearer: x}, event: deploy_finished, items: \"\""
        let endpoint = try await ConfigurationTests().load(Self.file(source: source)).inbound.endpoints.first
        guard case .events(let reading)? = endpoint?.purpose else {
            Issue.record("It is not an endpoint for events.")
            return
        }
        #expect(reading.items == JSON.Path())
    }

    @Test func `a command for one connection needs no secrets of pushes and webhook sources of other connections`() async throws {
        let base = try ConfigurationTests()
        let text =
            Self.file(
                inbound: "inbound: {listen: \"${{ env.LISTEN }}\"}",
                source: "path: /in/deploys, auth: {bearer: \"${{ secret.deploys }}\"}, event: deploy_finished",
                push: ", push: {path: /in/snow, auth: {bearer: \"${{ secret.push }}\"}}"
            ).replacing("connections: {", with: "connections: {ops: {kind: slack, url: \"https://chat.example.com/x\"}, ")
        let loader = ConfigurationLoader(environment: [:], keychain: base.keychain)
        let file = base.folder.path + "/bellhop.yaml"
        let configuration = try await loader.load(Array(text.utf8), file: file, focus: .connection("ops"))
        #expect(configuration.connection("ops")?.settings.text("url") == "https://chat.example.com/x")
        // The connection's own source lacks its secret.
        let refused = await #expect(throws: ConfigurationError.self) {
            try await loader.load(Array(text.utf8), file: file, focus: .connection("snow"))
        }
        guard case .diagnostics(let problems)? = refused else { throw try #require(refused) }
        #expect(problems.all.map(\.code) == ["missing-secret"])
        // A mistake is reported wherever it is.
        await #expect(throws: ConfigurationError.self) {
            let wrong = text.replacing("{fields: {service: text}}", with: "{field: {service: text}}")
            _ = try await loader.load(Array(wrong.utf8), file: file, focus: .connection("ops"))
        }
    }

    @Test func `without inbound there is no server, and a webhook source is refused`() async throws {
        #expect(try await ConfigurationTests().load("version: 1\n").inbound.place == nil)
        let found = try await problems(Self.file(inbound: ""))
        #expect(found.count == 1 && found[0].contains("[not-listening]"), "\(found)")
    }

    @Test(arguments: [
        ("path: in, auth: {bearer: x}, event: deploy_finished", "wrong-path"),
        ("path: /in, auth: {}, event: deploy_finished", "missing-key"),
        ("path: /in, event: deploy_finished", "missing-key"),
        ("path: /in, auth: {bearer: x, standard_webhooks: y}, event: deploy_finished", "two-values"),
        ("path: /in, auth: {bearer: x}, event: deploy", "unknown-event"),
        ("path: /in, auth: {bearer: x}, event: task_created", "unknown-event"),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, fields: {servic: a}", "unknown-field"),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, items: a..b", "wrong-path"),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, headers: {servic: X-Event}", "unknown-field"),
        (
            "path: /in, auth: {bearer: x}, event: deploy_finished, fields: {service: a}, headers: {service: X-Event}",
            "two-values"
        ),
        ("path: /in, auth: {bearer: x}, event: task, id: key, headers: {a: X-Event}", "unknown-key"),
        ("path: /in, auth: {standard_webhooks: whsec_AAAA}, event: deploy_finished", "wrong-value"),
        (
            "path: /in, auth: {hmac: {secret: s, header: X, timestamp: {signed: \"{timestamp}.{body}\"}}}, event: deploy_finished",
            "wrong-value"
        ),
        (
            "path: /in, auth: {hmac: {secret: s, header: X, timestamp: {in: t, signed: \"{body}\"}}}, event: deploy_finished",
            "wrong-value"
        ),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, title: a", "unknown-key"),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, updated: a", "unknown-key"),
        ("path: /in, auth: {bearer: x}, event: task", "wrong-value"),
        ("path: /in, auth: {bearer: x}, event: task, id: key, updated: at", "wrong-value"),
        ("path: /in, auth: {bearer: x}, event: task, id: key, fields: {at: at}, updated: at", "wrong-value"),
        ("path: /in, auth: {bearer: x}, event: task, id: key, fields: {a: b..c}", "wrong-value"),
        ("path: /in, auth: {bearer: x}, event: task, id: key, items: a..b", "wrong-path"),
        ("path: /in, auth: {bearer: x}, event: task, id: key, dedup: id", "unknown-key"),
        ("path: /in, auth: {hmac: {header: X}}, event: deploy_finished", "missing-key"),
        ("path: /in, auth: {bearer: x}, event: deploy_finished, secret: y", "unknown-key"),
    ])
    func `a mistake in a source of kind webhook is reported`(_ source: String, _ code: String) async throws {
        let found = try await problems(Self.file(source: source))
        #expect(found.count == 1 && found[0].contains("[\(code)]"), "\(found)")
    }

    @Test(arguments: [
        ("bearer: x", "authorization"), ("bearer: x", "Proxy-Authorization"), ("bearer: x", "Cookie"),
        ("hmac: {secret: s, header: X-Signature}", "x-signature"),
        ("standard_webhooks: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "Webhook-Signature"),
    ])
    func `a header field with a secret or a signature becomes no member of an event`(
        _ auth: String, _ header: String
    ) async throws {
        func source(_ header: String) -> String {
            Self.file(source: "path: /in, auth: {\(auth)}, event: deploy_finished, headers: {service: \(header)}")
        }
        let found = try await problems(source(header))
        #expect(found.count == 1 && found[0].contains("`\(header)`") && found[0].contains("[refused-name]"), "\(found)")
        let right = try await ConfigurationTests().load(source("X-Event"))
        #expect(right.inbound.endpoints.count == 1)
    }

    @Test func `endpoints with the same path and declared events with a known or invalid name are refused`() async throws {
        let same = try await problems(Self.file(push: ", push: {path: /in/deploys, auth: {bearer: y}}"))
        #expect(same.count == 1 && same[0].contains("[same-path]"), "\(same)")
        let known = try await problems(Self.file(event: "task_created: {}, deploy_finished: {}"))
        #expect(known.count == 1 && known[0].contains("[known-event]"), "\(known)")
        let named = try await problems(Self.file(event: "Deploy: {}, deploy_finished: {fields: {a: number}}"))
        #expect(named.count == 2 && named[0].contains("[bad-name]") && named[1].contains("[wrong-value]"), "\(named)")
        let place = try await problems(Self.file(inbound: "inbound: {listen: everywhere}"))
        #expect(place.contains { $0.contains("is not an address and a port") }, "\(place)")
    }
}
