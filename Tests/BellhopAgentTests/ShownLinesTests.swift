import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopTesting
import Testing

/// The lines of bellhop.yaml that messages show. The secret is always hunter2.
@Suite struct ShownLinesTests {
    private func problems(_ text: String) async throws -> [Diagnostic] {
        let folder = try TemporaryFolder()
        let keychain = Keychain(path: folder.path + "/keychain.json")
        do {
            _ = try await ConfigurationLoader(environment: [:], keychain: keychain).load(Array(text.utf8), file: "bellhop.yaml")
            return []
        } catch ConfigurationError.diagnostics(let problems) {
            return problems.all
        }
    }

    static let connections = [
        "snow: {kind: servicenov, instance: acme, auth: {bearer: hunter2}}",
        "pager: {kind: pagerdooty, routing_key: hunter2}",
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
        "web: {kind: http, url: \"jane:hunter2@example.com\"}", "web: {kind: http, url: \"hunter2@api.example.com/v1\"}",
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
            "version: 1\ntimezone: a: b # hunter2\n", "version: 1\ntimezone: @b # hunter2\n",
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

    @Test(arguments: files) func `no message about bellhop.yaml shows a secret`(_ text: String) async throws {
        let problems = try await problems(text)
        #expect(!problems.isEmpty)
        for problem in problems {
            #expect(!problem.rendered().contains("hunter2"), "\(problem.rendered())")
            #expect(!problem.json.text.contains("hunter2"))
        }
    }

    @Test(arguments: [
        ("timezone: Europe/Berlln", "timezone: Europe/Berlln"), ("timezone: Berlln # ours", "timezone: Berlln"),
        ("stroe: x.db", nil),
        ("connections: {snow: {kind: servicenov, instance: acme}}", "connections: {snow: {kind: servicenov, instance: acme}}"),
        ("connections: {ops: {kind: slac, url: '${{ secret.a }}'}}", "connections: {ops: {kind: slac, url: '${{ secret.a }}'}}"),
        ("connections: {ops: {kind: slac, url: 'x${{ secret.a }}'}}", nil),
        ("connections: {ops: {kind: slac, headers: {a: b}}}", nil),
        (
            "sources: {a: {kind: table, connection: snwo, where: {a: b}}}",
            "sources: {a: {kind: table, connection: snwo, where: {a: b}}}"
        ),
        ("sources: {a: {kind: tabel, connection: snow, tabel: incident}}", nil),
        ("sources: {a: {kind: rest, connection: web, path: a, id: id, query: {session: 1, api_key: x}, every: 1}}", nil),
    ])
    func `only a line that cannot contain a secret is shown`(_ line: String, _ shown: String?) async throws {
        let problems = try await problems("version: 1\n\(line)\n")
        #expect(problems.map(\.place?.line).contains(2))
        for problem in problems { #expect(problem.place?.excerpt == shown, "\(problem)") }
    }

    @Test(arguments: ["connections:\n\tsnow: {}", "timezone: a: b", "timezone: @b", "store: *abc"])
    func `no line of a file that is not valid YAML is shown`(_ text: String) async throws {
        let problems = try await problems("version: 1\n\(text)\n")
        #expect(!problems.isEmpty)
        for problem in problems { #expect(problem.place?.excerpt == nil && problem.corrected.isEmpty, "\(problem)") }
    }

    @Test func `a message about invalid YAML shows names of settings, and no other words of the file`() async throws {
        #expect(try await problems("version: 1\nversion: 1\n").first?.message.contains("`version`") == true)
        #expect(try await problems("version: 1\nlogin: a\nlogin: b\n").first?.message.contains("login") == false)
    }

    @Test func `the line of a setting that is refused only when it is used stays hidden`() async throws {
        let folder = try TemporaryFolder()
        let text = "version: 1\nconnections:\n  web: {kind: http, url: \"https://jane:hunter2@example.com\"}\n"
        let configuration = try await ConfigurationLoader(
            environment: [:], keychain: Keychain(path: folder.path + "/keychain.json")
        ).load(Array(text.utf8), file: "bellhop.yaml")
        var found = Diagnostics()
        do throws(AssemblyError) {
            let connectors = try await Assembly.connectors(
                configuration, clock: TestClock(), events: NoOpSink(), notebook: NoOpSink(), output: { _ in },
                login: { _ in nil }, tokens: Keychain(path: folder.path + "/keychain.json"))
            await connectors.shutdown()
        } catch {
            if case .diagnostics(let problems) = error { found = problems }
        }
        #expect(found.all.map { $0.place?.line } == [3])
        for problem in found.all { #expect(!problem.rendered().contains("hunter2")) }
    }
}
