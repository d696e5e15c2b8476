import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// `bellhop login` with a person's authorization in a browser.
@Suite(.serialized, .timeLimit(.minutes(5)), .closing) struct AuthorizationTests {
    private static let rules = """
        rule: acknowledge
        on: task_created
        once: task.id
        do: [{comment: Seen}]

        """

    // Below the range from which the system assigns ephemeral ports.
    private static let redirect = "http://127.0.0.1:\(20_000 + Int(ProcessInfo.processInfo.processIdentifier) % 12_000)/callback"

    private static func configuration(_ address: String) -> String {
        """
        version: 1
        connections:
          snow:
            kind: servicenow
            instance: "\(address)"
            auth:
              oauth:
                grant: authorization_code
                client_id: bellhop
                client_secret: "${{ env.CLIENT_SECRET }}"
                redirect_url: \(redirect)
        sources:
          my-work: {kind: tracker, connection: snow, every: 1s, initial: emit}

        """
    }

    /// A browser whose user is logged in to the instance. Returns the final page.
    private func browse(_ page: String, in folder: String) async throws -> String {
        let browser = try Program(
            ["curl", "-sSL", "-u", "\(Stage.user):\(Secrets.password)", page], program: "/usr/bin/env", in: folder,
            environment: [:], input: "")
        return await browser.end().output
    }

    /// Logs in to a connection through a browser.
    private func logIn(_ stage: Stage, _ arguments: [String], input: String = "") async throws {
        let login = try stage.start(["login"] + arguments, input: input)
        try await eventually("it waits for a browser") { login.errorsSoFar.contains("Waiting for it at") }
        let page = try #require(login.errorsSoFar.split(separator: "\n").first { $0.hasPrefix("http") })
        #expect(try await browse(String(page), in: stage.folder.path).contains("Thank you"))
        let ended = await login.end()
        #expect(ended.code == 0, "\(ended.errors)")
    }

    @Test func `after one authorization the agent works with its tokens, and after a restart with renewed ones`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.configuration)
        stage.instance.addClient("bellhop", secret: Secrets.clientSecret) { client in
            client.redirects = [Self.redirect]
            client.next = .other
        }
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let missing = try await stage.bellhop("run", "--once")
        #expect(missing.code == 77)
        #expect(missing.errors.contains("bellhop login snow"))

        let login = try stage.start(["login", "snow"])
        try await eventually("it waits for a browser") { login.errorsSoFar.contains("Waiting for it at") }
        let stranger = try await browse(Self.redirect + "?code=x&state=y", in: stage.folder.path)
        #expect(stranger.contains("a different login"))
        let page = try #require(login.errorsSoFar.split(separator: "\n").first { $0.hasPrefix("http") })
        #expect(try await browse(String(page), in: stage.folder.path).contains("Thank you"))
        let ended = await login.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.errors.contains("Logged in as John Doe (john.doe); stored in"))
        #expect(try stage.folder.mode("keychain.json") == 0o600)

        var tokens: Set<String> = []
        for _ in 1...3 {
            let run = try await stage.bellhop("run", "--once")
            #expect(run.code == 0, "\(run.errors)")
            tokens.insert(try #require(stage.instance.accessToken(of: Stage.user, client: "bellhop")))
            tokens.insert(try #require(stage.instance.refreshToken(of: Stage.user, client: "bellhop")))
            stage.time.pass(.seconds(3600))
        }
        #expect(stage.instance.counts.tokensRefused == 0)
        #expect(stage.notes(on: task.id).count == 1)
        #expect(tokens.count >= 4)
        for name in try stage.folder.files where name != "keychain.json" {
            let bytes = FileManager.default.contents(atPath: "\(stage.folder.path)/\(name)") ?? Data()
            for token in tokens { #expect(bytes.range(of: Data(token.utf8)) == nil, "a token is in \(name)") }
        }
    }

    @Test func `a connection with only the keychain can store a client and its tokens there`() async throws {
        func configuration(_ address: String) -> String {
            """
            version: 1
            connections:
              snow: {kind: servicenow, instance: "\(address)", auth: {keychain: true}}
            sources:
              my-work: {kind: tracker, connection: snow, every: 1s, initial: emit}

            """
        }
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration)
        let redirect = "http://127.0.0.1:8912/callback"
        stage.instance.addClient("bellhop", secret: Secrets.clientSecret) { $0.redirects = [redirect] }
        let task = stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await logIn(stage, ["snow", "--client-id", "bellhop"], input: Secrets.clientSecret + "\n")
        for _ in 1...2 {
            let run = try await stage.bellhop("run", "--once")
            #expect(run.code == 0, "\(run.errors)")
            stage.time.pass(.seconds(3600))
        }
        #expect(stage.notes(on: task.id).count == 1)
        #expect(try await stage.events().contains { $0["type"] == "ks_login_event" && $0.at("data", "ok") == true })
    }

    @Test func `a connection to any API can get its tokens by a person's authorization`() async throws {
        func configuration(_ address: String) -> String {
            """
            version: 1
            connections:
              api:
                kind: http
                url: "\(address)/rest/v1"
                auth:
                  oauth:
                    grant: authorization_code
                    client_id: bellhop
                    client_secret: "${{ env.CLIENT_SECRET }}"
                    token_url: "\(address)/oauth_token.do"
                    authorize_url: "\(address)/oauth_auth.do"
                    redirect_url: \(Self.redirect)
            sources:
              issues: {kind: rest, connection: api, path: list, id: id, title: title, every: 1s, initial: emit}

            """
        }
        let rules = """
            rule: answer
            on: task_created
            do: [{rest: {to: api, path: issues, json: {title: "Seen: ${{ task.title }}"}, expect: 201}, if: "!task.title.startsWith('Seen')"}]

            """
        let stage = try await Stage.set(rules: rules, configuration: configuration)
        stage.instance.addClient("bellhop", secret: Secrets.clientSecret) { $0.redirects = [Self.redirect] }
        stage.simulation.api.add("One")
        let missing = try await stage.bellhop("run", "--once")
        #expect(missing.code == 77)
        #expect(missing.errors.contains("bellhop login api"))
        try await logIn(stage, ["api"])
        let run = try await stage.bellhop("run", "--once")
        #expect(run.code == 0, "\(run.errors)")
        #expect(stage.simulation.api.issues.map(\.title) == ["One", "Seen: One"])
        func shown() -> String? {
            stage.simulation.requests.all.last { $0.path == "/rest/v1/list" }?.header("Authorization")
        }
        let first = try #require(shown())
        #expect(first.hasPrefix("Bearer "))
        // No other token is accepted now.
        stage.simulation.api.requiredCredentials = .field("Authorization", first)
        let same = try await stage.bellhop("run", "--once")
        #expect(same.code == 0, "\(same.errors)")
        // An expired token is renewed once.
        stage.simulation.api.requiredCredentials = .open
        stage.time.pass(.seconds(3600))
        let again = try await stage.bellhop("run", "--once")
        #expect(again.code == 0, "\(again.errors)")
        let next = try #require(shown())
        #expect(next.hasPrefix("Bearer ") && next != first)
        #expect(stage.instance.counts.tokensRefused == 0)
    }

    @Test func `a withdrawn authorization is reported once and not retried`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: Self.configuration)
        stage.instance.addClient("bellhop", secret: Secrets.clientSecret) { $0.redirects = [Self.redirect] }
        try await logIn(stage, ["snow"])
        stage.instance.revokeTokens(access: true, refresh: true)
        for _ in 1...3 {
            let run = try await stage.bellhop("run", "--once")
            #expect(run.code == 77)
            #expect(run.errors.contains("Run `bellhop login snow`"))
        }
        #expect(stage.instance.counts.tokensRefused == 1)
    }
}
