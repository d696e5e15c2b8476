import BellhopConnectors
import BellhopCore
import BellhopTesting
import Testing

extension ConnectorEnvironment {
    static func sample(login: (username: String, password: String)? = nil) -> ConnectorEnvironment {
        ConnectorEnvironment(
            clock: TestClock(at: SampleDelivery.now), events: NoOpSink(), notebook: NoOpSink(), login: { _ in login },
            baseFolder: "", output: { _ in })
    }
}

struct ConnectorsTests {
    private static let instance = Settings(["instance": "http://127.0.0.1:1", "auth": ["keychain": true]])

    @Test func `all mistakes are reported at once, and connections already opened are closed`() async throws {
        let error = await #expect(throws: ConnectorErrors.self) {
            try await Connectors(
                connections: [
                    ("good", "slack", Settings(["url": "https://hooks.slack.com/services/x"])),
                    ("plain", "slack", Settings(["url": "http://hooks.slack.com/services/x"])),
                    ("unsigned", "webhook", Settings(["url": "https://x.example/", "secret": "hunter2"])),
                    ("nowhere", "webhook", Settings(["url": "x.example"])), ("snow", "servicenow", Self.instance),
                    ("trust", "slack", Settings(["url": "https://hooks.slack.com/services/x", "ca": "no-such.pem"])),
                ], sources: [("work", "tracker", "good", Settings()), ("other", "tracker", "snow", Settings())],
                environment: .sample())
        }
        #expect(error?.all.map(\.connection) == ["plain", "unsigned", "nowhere", "snow", "trust", "work"])
        #expect(error?.all.map(\.setting) == ["url", "secret", "url", "auth.keychain", "ca", "connection"])
        #expect(error?.message.contains("hunter2") == false)
        #expect(error?.message.contains("services") == false)
    }

    @Test func `each kind of receiver has by default the rate of its service, as in its manifest`() {
        let rates = [
            "slack": "20/20s", "teams": "4/2s", "discord": "5/2s", "mattermost": "10/s", "googlechat": "60/m", "telegram": "20/m",
            "pagerduty": "120/m", "matrix": "10/50s", "ntfy": "60/5m",
        ]
        var found: [String: String] = [:]
        for manifest in Catalogue.connections where manifest.messages != nil {
            found[manifest.kind] = manifest.settings.first { $0.name == "rate" }?.fallback
        }
        #expect(found == rates)
    }

    @Test(arguments: ["rest", "page"])
    func `sources of different accounts have separate memories, and sources of one account share theirs`(_ kind: String)
        async throws
    {
        func scopes(_ tokens: [String]) async throws -> [Scope] {
            let settings: JSON.Object = kind == "rest" ? ["path": "me", "id": "id"] : ["path": "me"]
            let connectors = try await Connectors(
                connections: tokens.enumerated().map { place, token in
                    ("api\(place)", "http", Settings(["url": "http://127.0.0.1:1/v1", "auth": ["bearer": .string(token)]]))
                }, sources: tokens.indices.map { ("me\($0)", kind, "api\($0)", Settings(settings)) }, environment: .sample())
            await connectors.shutdown()
            return connectors.sources.map(\.scope)
        }
        let alone = try await scopes(["a"])
        #expect(alone.map(\.user) == [""])
        #expect(try await scopes(["a", "a"]) == alone + alone)
        // Whatever their order in the file, neither takes over the other one's memory.
        #expect(try await scopes(["a", "b"]).map(\.user) == ["(api0)", "(api1)"])
        #expect(Set(try await scopes(["a", "b", "c"]).map(\.id)).count == 3)
    }

    @Test func `a stored login is used only for the origin that it was entered for`() async throws {
        for (place, isRight) in [("http://127.0.0.1:1", true), ("https://acme.service-now.com", false)] {
            var environment = ConnectorEnvironment.sample(login: ("ada", "hunter2"))
            environment.loginPlace = { _ in place }
            for kind in ["servicenow", "eto"] {
                let address = kind == "eto" ? "address" : "instance"
                let settings = Settings([address: "http://127.0.0.1:1", "auth": ["keychain": true]])
                do throws(ConnectorErrors) {
                    let connectors = try await Connectors(
                        connections: [("snow", kind, settings)], sources: [], environment: environment)
                    #expect(isRight && connectors.origin(connection: "snow") == place)
                    await connectors.shutdown()
                } catch {
                    #expect(!isRight && error.all.map(\.setting) == ["auth.keychain"])
                    #expect(error.message.contains(place) && error.message.contains("bellhop login snow"))
                    #expect(!error.message.contains("hunter2"))
                }
            }
        }
    }

    @Test func `each delivery is performed by the action of its connection`() async throws {
        let connectors = try await Connectors(
            connections: [
                ("ops", "slack", Settings(["url": "https://hooks.slack.com/services/x"])),
                ("mine", "webhook", Settings(["url": "https://x.example/"])), ("snow", "servicenow", Self.instance),
            ], sources: [("work", "tracker", "snow", Settings())], environment: .sample(login: ("ada", "pw")))
        func found(_ action: String, _ arguments: Arguments, _ receiver: String) -> String? {
            connectors.action(for: SampleDelivery.make(action, arguments, to: receiver)).map { "\(type(of: $0))" }
        }
        let message = Arguments.message(SampleMessage.full)
        #expect(connectors.sources.map(\.name) == ["work"])
        #expect(found("notify", message, "ops") == "NotifyAction")
        #expect(found("notify", message, "mine") == "NotifyAction")
        #expect(found("notify", message, "gone") == nil)
        #expect(found("webhook", .values(["text": "x"]), "mine") == "WebhookAction")
        #expect(found("webhook", .values(["text": "x"]), "gone") == nil)
        #expect(found("webhook", .values(["url": "https://y.example/"]), "https://y.example/") == "WebhookAction")
        #expect(found("comment", .values(["text": "x"]), "snow") == "RecordAction<Comment>")
        #expect(found("update", .values([:]), "snow") == "RecordAction<Update>")
        #expect(found("create", .values([:]), "snow") == "RecordAction<Creation>")
        #expect(found("attach", .values([:]), "snow") == "RecordAction<Attachment>")
        #expect(found("log", .values(["text": "x"]), "log") == "LogAction")
        #expect(found("exec", .values([:]), "exec") == "ExecAction")
        #expect(found("emit", .values([:]), "emit") == "EmitAction")
        #expect(found("dance", .values([:]), "dance") == nil)
        let misdirected = SampleDelivery.make("webhook", .values([:]), to: "ops")
        let action = try #require(connectors.action(for: misdirected))
        let failure = await #expect(throws: Failure.self) { try await action.perform(misdirected, attempt: SampleDelivery.first) }
        #expect(failure?.remedy == .giveUp)
        let noLogin = await #expect(throws: Failure.self) { try await connectors.verifyLogin(connection: "ops") }
        #expect(noLogin?.reason == .badArguments)
        await connectors.shutdown()
    }

    @Test func `a connection stays as it was if the agent ends while its changed secret is read`() async throws {
        let settings = Settings(["url": "https://hooks.slack.com/services/x"])
        let connectors = try await Connectors(connections: [("ops", "slack", settings)], sources: [], environment: .sample())
        let isReading = StopFlag()
        let rebinding = Task {
            try await connectors.rebind("ops") { () async throws(Failure) -> Connectors.Entries in
                isReading.raise()
                while !Task.isCancelled { await Task.yield() }
                throw Failure(.badArguments, .pauseConnection, "The command that prints the secret was stopped.")
            }
        }
        while !isReading.isRaised { await Task.yield() }
        rebinding.cancel()
        await #expect(throws: CancellationError.self) { try await rebinding.value }
        let delivery = SampleDelivery.make("notify", .message(SampleMessage.full), to: "ops")
        #expect(connectors.action(for: delivery).map { "\(type(of: $0))" } == "NotifyAction")
        await connectors.shutdown()
    }

    @Test func `every kind is listed once, and every connection has the common settings`() {
        for kinds in [Catalogue.connections.map(\.kind), Catalogue.sources.map(\.kind), Catalogue.actions.map(\.kind)] {
            #expect(Set(kinds).count == kinds.count)
        }
        for manifest in Catalogue.connections {
            let names = manifest.settings.map(\.name)
            #expect(Set(names).count == names.count)
            // Mail is the only one without HTTP.
            let common = ["ca", "timeout", "rate"] + (manifest.kind == "email" ? [] : ["proxy", "headers", "plain_http"])
            for name in common { #expect(names.contains(name)) }
            #expect((manifest.messages != nil) == manifest.actions.contains(NotifyAction.manifest.kind))
        }
    }

    @Test func `an ability that depends on a setting names a setting of its kind`() throws {
        var found = 0
        for manifest in Catalogue.sources {
            for case .setting(let name, let values, let line) in [manifest.labels, manifest.comments] {
                let setting = try #require(manifest.settings.first { $0.name == name })
                #expect(line.hasPrefix(name + ": "))
                switch setting.type {
                case .oneOf(let all), .list(.oneOf(let all)): #expect(try #require(values).isSubset(of: all))
                default: Issue.record("\(manifest.kind): \(name) has no fixed values")
                }
                found += 1
            }
        }
        #expect(found == 4)
    }
}
