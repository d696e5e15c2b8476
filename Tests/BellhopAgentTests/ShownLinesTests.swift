import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopTesting
import Testing

/// Takes events and notes and keeps none.
private struct Nobody: EventSink, Notebook {
    func emit(_ events: [Event]) async {}
    func retry(_ events: [Event], after error: StoreError) {}
    func note(_ key: String) async throws -> JSON? { nil }
    func setNote(_ key: String, to value: JSON?) async throws {}
}

/// What messages about bellhop.yaml show of it. The secret is always hunter2.
@Suite struct ShownLinesTests {
    private func problems(_ text: String) async throws -> [Diagnostic] {
        let folder = try TemporaryFolder()
        let keychain = Keychain(path: folder.path + "/keychain.json")
        do {
            _ = try await ConfigurationLoader(environment: [:], keychain: keychain).load(
                Array(text.utf8), file: "bellhop.yaml")
            return []
        } catch ConfigurationError.diagnostics(let problems) {
            return problems.all
        }
    }

    static let connections = [
        "snow: {kind: servicenov, instance: acme, auth: {bearer: hunter2}}",
        "pager: {kind: pagerduty, routing_key: hunter2}",
        "none: {login: hunter2}",
        "bare: hunter2",
        "ops: {kind: slack, url: hunter2, tiemout: 1s}",
        "ops: {kind: slack, uri: hunter2}",
        "ops: {kind: slack, url:hunter2}",
        "ops: {kind: slack, url hunter2}",
        "ops:{kind: slack, url: hunter2}",
        "snow: {kind: servicenow, instance: acme, auth: {basic: {username: j, password: hunter2, realm: x}}}",
        "snow: {kind: servicenow, instance: acme, auth: {basic: {username: j, password: [hunter2]}, x: 1}}",
        "snow: {kind: servicenow, instance: acme, auth: hunter2}",
        "snow: {kind: servicenow, instance: acme, auth: {bearer: !hunter2}}",
        "snow: {kind: servicenow, instance: acme, auth: {bearer: *hunter2}}",
        "snow: {kind: servicenow, instance: \"https://jane:hunter2@acme.example\", auht: {}}",
        "web: {kind: http, url: \"https://jane:hunter2@example.com\", timeout: q}",
        "web: {kind: http, url: \"jane:hunter2@example.com\"}",
        "web: {kind: http, url: \"hunter2@api.example.com/v1\"}",
        "web: {kind: http, url: \"api.example.com/v1?token=hunter2\"}",
        "web: {kind: http, url: \"hunter2@example.com\", timeout: q}",
        "web: {kind: http, url: \"https://example.com\", timeout: \"hunter2?\"}",
        "web: {kind: http, url: \"https://example.com?token=hunter2\", timeout: q}",
        "web: {kind: http, url: \"https://example.com\", timeout: q} # it was hunter2",
        "web: {kind: http, url: \"https://example.com\", headers: {X-Key: hunter2}, timeout: q}",
        #"web: {kind: http, url: "https://example.com", ca: "c:\\", timeout: q} # hunter2"#,
        "web: {kind: http, url: \"https://example.com\", timeout: 5' } # hunter2",
        "snow: {kind: servicenow, instance: acme, auth: {bearer: {hunter2: }}}",
        "snow: {kind: servicenow, instance: acme, auth: {bearer: [{hunter2: }]}}",
        "snow: {kind: servicenow, instance: acme, auth: {bearer: {hunter2: }}",
        "snow: {kind: servicenow, instance: acme, login: {hunter2: }}",
    ]

    static let files =
        connections.map { "version: 1\nconnections:\n  \($0)\n" } + [
            "version: 1\nsecrets: {ops_url: hunter2}\n",
            "version: 1\nsecrets: [{comand: [pass, hunter2]}]\n",
            "version: 1\nsecrets: [{command: {hunter2: }}]\n",
            "version: 1\npassword: hunter2\n",
            "version: 1\nconnections:\n  snow:\n    kind: servicenow\n    instance: acme\n    auth:\n      bearer: *hunter2\n",
            "version: 1\nconnections:\n  snow:\n    kind: servicenow\n    instance: acme\n    auth:\n      bearer: &hunter2\n",
            "version: 1\nconnections:\n  snow:\n    kind: servicenow\n    instance: acme\n    auth:\n      bearer: !hunter2\n",
            "version: 1\ntimezone: a: b # hunter2\n",
            "version: 1\ntimezone: @b # hunter2\n",
            "version: 1\nconnections:\n\tsnow: {} # hunter2\n",
            "version: 1\nconnections: # hunter2\nsnow: {kind: servicenow, instance: acme} # hunter2\n",
            "version: 1\nconnections:\n  snow:\n    kind: servicenow\n    instance: acme\n    auth: {basic: {username: j,\n      password: hunter2, x: 1}}\n",
            "version: 1\nconnections:\n  snow:\n    kind: servicenow\n   password: hunter2\n",
            "version: 1\nconnections:\n\tsnow: {password: hunter2}\n",
            "version: 1\nconnections:\n  snow:\n    auth: {bearer: \"hunter2}\n",
            "version: 1\nconnections:\n  snow:\n    pin: @hunter2\n",
            "version: 1\nconnections:\n  snow:\n    key: |\n     abc\n    hunter2\n",
            "version: 1\nconnections:\n  snow:\n    login: hunter2\n    login: hunter2\n",
            "version: 1\nconnections:\n  web: {kind: http, url: \"https://example.com\"}\nsources:\n"
                + "  orders: {kind: rest, connection: web, path: a, id: id, query: {api_key: hunter2}, evry: 1m}\n",
            "version: 1\nconnections:\n  web: {kind: http, url: \"https://example.com\"}\nsources:\n"
                + "  orders: {kind: rest, connection: web, path: \"orders?api_key=hunter2\", id: id, every: q}\n",
            "version: 1\nconnections:\n  web: {kind: http, url: \"https://example.com\"}\nsources:\n"
                + "  orders: {kind: rezt, connection: web, path: a, headers: {Authorization: Bearer hunter2}}\n",
        ]

    @Test(arguments: files)
    func `no message about bellhop.yaml shows a secret`(_ text: String) async throws {
        let problems = try await problems(text)
        #expect(!problems.isEmpty)
        for problem in problems {
            #expect(!problem.rendered().contains("hunter2"), "\(problem.rendered())")
            #expect(!problem.json.text.contains("hunter2"))
        }
    }

    @Test(
        arguments: [
            ("stroe: x.db", 2), ("connections:\n  snow: {kind: servicenov, instance: acme}", 3),
            ("connections: # whom we talk to\n  snow: {kind: servicenov, instance: acme} # ours", 3),
            ("connections:\n  ops: {kind: slack, url: \"${{ secret.ops_url }}\", tiemout: 1s}", 3),
            ("connections:\n  ops: {kind: slack, url: \"${{ secret.ops_url }}\"} # \"ours\"", 3), ("connections:\n\tsnow: {}", 3),
            (
                "connections:\n  ops: {kind: slack, url: \"${{ secret.a }}\"}\nsources:\n  a:\n    kind: table\n   table: incident",
                7
            ),
        ])
    func `a line with nothing to hide is shown`(_ text: String, _ line: Int) async throws {
        let problems = try await problems("version: 1\n\(text)\n")
        let shown = problems.compactMap(\.place).first { $0.line == line }?.excerpt
        #expect(shown != nil, "\(problems)")
        #expect(shown?.contains("#") == false)
    }

    @Test func `a setting that is found wrong later is shown no more than the others`() async throws {
        let folder = try TemporaryFolder()
        let text = "version: 1\nconnections:\n  web: {kind: http, url: \"https://jane:hunter2@example.com\"}\n"
        let configuration = try await ConfigurationLoader(
            environment: [:], keychain: Keychain(path: folder.path + "/keychain.json")
        ).load(Array(text.utf8), file: "bellhop.yaml")
        var found = Diagnostics()
        do throws(AssemblyError) {
            let connectors = try await Assembly.connectors(
                configuration, clock: TestClock(), events: Nobody(), notebook: Nobody(), output: { _ in },
                login: { _ in nil }, tokens: Keychain(path: folder.path + "/keychain.json"))
            await connectors.shutdown()
        } catch {
            if case .diagnostics(let problems) = error { found = problems }
        }
        #expect(found.all.map { $0.place?.line } == [3])
        for problem in found.all { #expect(!problem.rendered().contains("hunter2")) }
    }
}
