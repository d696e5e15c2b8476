import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@Suite struct ConfigurationTests {
    let folder: TemporaryFolder
    let keychain: Keychain

    init() throws {
        folder = try TemporaryFolder()
        keychain = Keychain(path: folder.path + "/keychain.json")
    }

    func load(_ text: String, environment: [String: String] = [:]) async throws -> Configuration {
        try await ConfigurationLoader(environment: environment, keychain: keychain).load(
            Array(text.utf8), file: folder.path + "/bellhop.yaml")
    }

    /// The diagnostics for a configuration, each as `line:column: message [code]` with its help.
    func problems(_ text: String, environment: [String: String] = [:]) async -> [String] {
        do {
            _ = try await load(text, environment: environment)
            return []
        } catch ConfigurationError.diagnostics(let problems) {
            return problems.all.map { problem in
                let place = problem.place.map { "\($0.line):\($0.column): " } ?? ""
                return "\(place)\(problem.message) [\(problem.code)]" + (problem.help.map { " (\($0))" } ?? "")
            }
        } catch { return ["\(error)"] }
    }

    static let whole = """
        version: 1
        store: /var/lib/bellhop/bellhop.db
        rules: [rules, more/*.yaml]
        timezone: Europe/Berlin
        secrets:
          - keychain
          - folder: secrets
        connections:
          snow:
            kind: servicenow
            instance: acme
            auth: {basic: {username: john.doe, password: "${{ secret.snow_password }}"}}
          ops: {kind: slack, url: "https://hooks.example.com/${{ env.HOOK }}"}
        sources:
          my-work: {kind: tracker, connection: snow, every: {busy: 15s, idle: 2m}}
          mornings: {kind: tracker, connection: snow, schedule: "*/5 8-18 * * MON-FRI"}
        retention: {events: 10d}
        """

    @Test func `a complete configuration is read and its secrets are filled in`() async throws {
        try folder.write("secrets/snow_password", "0123\n")
        let configuration = try await load(Self.whole, environment: ["HOOK": "x"])
        #expect(configuration.store == "/var/lib/bellhop/bellhop.db")
        #expect(configuration.rules == [folder.path + "/rules", folder.path + "/more/*.yaml"])
        #expect(configuration.timeZone.name == "Europe/Berlin")
        #expect(configuration.connection("snow")?.settings.record("auth")?.record("basic")?.text("password") == "0123")
        #expect(configuration.connection("ops")?.settings.text("url") == "https://hooks.example.com/x")
        #expect(configuration.source("my-work")?.plan.cadence == .busyIdle(busy: .seconds(15), idle: .seconds(120)))
        #expect(configuration.retention == Retention(events: .days(10)))
    }

    @Test func `a command that needs no secrets and variables reports no mistakes in values that lack them`() async throws {
        let text = """
            version: 1
            timezone: "${{ env.ZONE }}"
            connections:
              snow: {kind: servicenow, instance: acme, auth: {keychain: true}}
            sources:
              my-work: {kind: tracker, connection: snow, every: "${{ env.EVERY }}"}
            console:
              listen: "127.0.0.1:8090"
              users:
                - {name: ada, token: "${{ secret.ada }}"}
                - {name: bob, token: "${{ secret.bob }}"}
                - {name: eve, token: "x-${{ secret.eve }}"}
            """
        let loader = ConfigurationLoader(environment: [:], keychain: keychain)
        let file = folder.path + "/bellhop.yaml"
        let configuration = try await loader.load(Array(text.utf8), file: file, focus: .shape)
        #expect(configuration.source("my-work") != nil)
        // A mistake elsewhere is still reported.
        await #expect(throws: ConfigurationError.self) {
            let wrong = text.replacing("127.0.0.1:8090", with: "127.0.0.1:99999")
            _ = try await loader.load(Array(wrong.utf8), file: file, focus: .shape)
        }
    }

    @Test func `omitted settings get their documented defaults`() async throws {
        let configuration = try await load("version: 1\nsources:\nconnections:\n")
        #expect(configuration.store == folder.path + "/bellhop.db")
        #expect(configuration.rules == [folder.path + "/rules"])
        #expect(configuration.timeZone == .utc)
        #expect(configuration.retention == Retention())
        #expect(configuration.secretStores == [.keychain])
    }

    @Test func `all mistakes are reported at once, each with its place and a way to correct it`() async {
        let found = await problems(
            """
            version: 2
            stroe: x.db
            timezone: Europe/Berlln
            connections:
              snow: {kind: servicenov, instance: acme}
              pager: {kind: pagerduty}
            sources:
              my-work: {kind: tracker, connection: snwo, every: 30}
            """)
        #expect(found.contains { $0.hasPrefix("1:10:") })
        #expect(found.contains { $0.hasPrefix("2:1:") && $0.contains("[unknown-key]") && $0.contains("did you mean `store`?") })
        #expect(found.contains { $0.hasPrefix("3:11:") && $0.contains("[unknown-time-zone]") })
        #expect(found.contains { $0.hasPrefix("5:16:") && $0.contains("did you mean `servicenow`?") })
        #expect(found.contains { $0.hasPrefix("6:") && $0.contains("routing_key") })
        #expect(found.contains { $0.hasPrefix("8:") && $0.contains("30s") })
    }

    @Test func `a missing secret is reported with how to store it, a missing variable with how to set it`() async {
        let found = await problems(
            """
            version: 1
            connections:
              ops: {kind: slack, url: "${{ secret.ops_url }}/${{ env.HOOK }}"}
            """)
        #expect(
            found == [
                "3:28: there is no secret `ops_url` [missing-secret] (run `bellhop secret set ops_url`, or put it where `secrets:` looks)",
                "3:50: there is no environment variable `HOOK` [missing-variable] (set the environment variable HOOK)",
            ])
    }

    @Test func `no message contains a secret's value`() async throws {
        try keychain.setSecret("ops_url", to: "ftp://hunter2.example.com")
        do {
            _ = try await load(
                "version: 1\nconnections:\n  ops: {kind: slack, url: \"${{ secret.ops_url }}\", timeout: \"${{ secret.ops_url }}\"}\n"
            )
            Issue.record("the configuration was accepted")
        } catch ConfigurationError.diagnostics(let problems) {
            #expect(!problems.all.isEmpty)
            for problem in problems.all { #expect(!problem.rendered().contains("hunter2")) }
        }
    }

    @Test func `a secret that is a common word is not masked in Bellhop's own words`() async throws {
        try keychain.setSecret("pace", to: "such")
        let found = await problems(
            "version: 1\nconnections:\n  ops: {kind: slack, url: \"https://example.com\", timeout: \"${{ secret.pace }}\"}\n"
                + "  web: {kind: webhook, url: \"https://example.com\", timeout: soon}\n")
        #expect(
            found == [
                "3:59: the value of `${{ secret.pace }}` is not a duration such as `15m` [wrong-value]",
                "4:61: a duration begins with a number [bad-duration] (for example 1h30m)",
            ])
    }

    @Test func `a password written into the file is not shown when its line is wrong`() async throws {
        let text = """
            version: 1
            connections:
              snow: {kind: servicenow, instance: acme, auth: {basic: {username: j, password: hunter2, realm: x}}}
            """
        do {
            _ = try await load(text)
            Issue.record("the configuration was accepted")
        } catch ConfigurationError.diagnostics(let problems) {
            for problem in problems.all { #expect(!problem.rendered().contains("hunter2")) }
        }
    }

    @Test(arguments: ["${{ task.number }}", "${{ secret.a", "${{ secret.../etc/passwd }}"])
    func `an invalid reference in bellhop.yaml is refused`(_ text: String) async {
        let found = await problems("version: 1\nconnections:\n  ops: {kind: slack, url: \"\(text)\"}\n")
        #expect(found.contains { $0.contains("reference]") })
    }

    @Test func `a doubled dollar sign is a literal dollar sign`() async throws {
        let configuration = try await load("version: 1\nrules: [\"$${{ x }}\"]\n")
        #expect(configuration.rules == [folder.path + "/${{ x }}"])
    }

    @Test func `an empty file, a list and two documents are refused with messages of their own`() async {
        #expect(await problems("").first?.contains("empty") == true)
        #expect(await problems("- a\n").first?.contains("mapping") == true)
        #expect(await problems("version: 1\n---\nversion: 1\n").first?.contains("[several-documents]") == true)
    }
}
