import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Glibc
import Testing

@testable import BellhopAgent

@Suite(.timeLimit(.minutes(2))) struct ReloaderTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let rule = "rule: r\non: {schedule: \"30 8 * * MON-FRI\"}\ndo: [{log: {text: Good morning}}]\n"

    /// An agent whose only rule is in `rules/a.yaml`.
    private static func assembly(
        in folder: TemporaryFolder, settings: String = "", clock: TestClock = TestClock(), listeners: [SignalListener] = []
    ) async throws -> Assembly {
        try folder.write("rules/a.yaml", rule)
        let file = try folder.write("bellhop.yaml", "version: 1\n" + settings)
        let keychain = Keychain(path: folder.path + "/keychain.json")
        let configuration = try await ConfigurationLoader(environment: [:], keychain: keychain).load(file)
        return try await Assembly(
            configuration, options: Assembly.Options(clock: clock, listeners: listeners, output: { _ in }))
    }

    @Test func `changed rules that the store did not take are loaded again after a while`() async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        let (failures, failed) = AsyncStream<String>.makeStream()
        let listener: SignalListener = { signal in
            if case .storeFailed(let doing, _, _) = signal { failed.yield(doing) }
        }
        let assembly = try await Self.assembly(in: folder, clock: clock, listeners: [listener])
        try await assembly.context.store.close()
        let reloading = Task { try await Reloader(assembly: assembly, environment: [:]).run() }
        try folder.write("rules/a.yaml", Self.rule.replacing("morning", with: "day"))
        var failure = failures.makeAsyncIterator()
        #expect(await failure.next() == "registering rules")
        try await clock.waitForSleepers(1)
        await clock.advance(by: .seconds(30))
        #expect(await failure.next() == "registering rules")
        reloading.cancel()
        _ = await reloading.result
        await assembly.connectors.shutdown()
    }

    @Test func `a change in a watched folder that changes no rule loads none`() async throws {
        let (loads, loaded) = AsyncStream<Int>.makeStream()
        let listener: SignalListener = { signal in
            if case .rulesLoaded(let count, _) = signal { loaded.yield(count) }
        }
        let assembly = try await Self.assembly(in: folder, listeners: [listener])
        var counts = loads.makeAsyncIterator()
        #expect(await counts.next() == 1)
        let reloading = Task { try await Reloader(assembly: assembly, environment: [:]).run() }
        // The first one may come before the watch, the second one comes after it.
        for name in ["first", "second"] {
            try folder.write("rules/\(name)/notes.txt", "")
            try await Task.sleep(for: .milliseconds(500))
        }
        try folder.write("rules/b.yaml", Self.rule.replacing("rule: r", with: "rule: b"))
        #expect(await counts.next() == 2)
        reloading.cancel()
        _ = await reloading.result
        await assembly.shutdown()
    }

    @Test func `a change in a watched folder loads the rules again if the holidays of a calendar have changed`() async throws {
        try folder.write("free.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n")
        let (loads, loaded) = AsyncStream<Int>.makeStream()
        let listener: SignalListener = { signal in
            if case .rulesLoaded(let count, _) = signal { loaded.yield(count) }
        }
        let assembly = try await Self.assembly(
            in: folder, settings: "calendars: {office: {holidays: [free.ics]}}\n", listeners: [listener])
        var counts = loads.makeAsyncIterator()
        #expect(await counts.next() == 1)
        let reloading = Task { try await Reloader(assembly: assembly, environment: [:]).run() }
        try folder.write(
            "free.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260106\nEND:VEVENT\nEND:VCALENDAR\n")
        try folder.write("rules/new/notes.txt", "")
        #expect(await counts.next() == 1)
        reloading.cancel()
        _ = await reloading.result
        await assembly.shutdown()
    }

    @Test func `refused rules are loaded again after any change in a watched folder`() async throws {
        let (refusals, refused) = AsyncStream<Int>.makeStream()
        let listener: SignalListener = { signal in
            if case .rulesRefused(let problems) = signal { refused.yield(problems) }
        }
        let assembly = try await Self.assembly(in: folder, listeners: [listener])
        let reloading = Task { try await Reloader(assembly: assembly, environment: [:]).run() }
        var problems = refusals.makeAsyncIterator()
        try folder.write("rules/a.yaml", "# Not written yet.\n")
        #expect(await problems.next() == 1)
        try folder.write("rules/new/notes.txt", "")
        #expect(await problems.next() == 1)
        reloading.cancel()
        _ = await reloading.result
        await assembly.shutdown()
    }

    @Test func `a changed secret of the console needs a restart`() async throws {
        try Keychain(path: folder.path + "/keychain.json").setSecret("on_call", to: "0123456789abcdef")
        let console = "{listen: \"127.0.0.1:8090\", users: [{name: ada, token: \"${{ secret.on_call }}\"}]}"
        let assembly = try await Self.assembly(in: folder, settings: "console: \(console)\n")
        let reloader = SecretReloader(assembly, handler: nil, environment: [:])
        let outcomes = await reloader.apply(.secret("on_call"), project: nil).map(\.json)
        let reason: JSON = "`console` in bellhop.yaml is read only at the start"
        #expect(outcomes == [["section": "console", "outcome": "needs_restart", "reason": reason]])
        #expect(await reloader.apply(.secret("another"), project: nil).isEmpty)
        await assembly.shutdown()
    }

    private static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBfzCCASWgAwIBAgIUY51faGkmlExNPaM8qLxpoBgk9FcwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjYxMTAy
        MDgwNDQ3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASfrwKKDaLEWLmOFt+sMb5GJGbf/WKOE2YoQbZD/2B1jCdjs6PYIOgG
        tPT07itWdKoQSuTywDe489y7OKBmXhTfo1MwUTAdBgNVHQ4EFgQUM3zycUzc7MTg
        VJx7mOrW9FoeQlwwHwYDVR0jBBgwFoAUM3zycUzc7MTgVJx7mOrW9FoeQlwwDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAkmPNq378r6nrHYYKQyu2
        BpA4VC1iecj+uzLhlu9c+jUCIA/l9RS0XJj+h+BLTsjchfAFgOzxSUgr/Xi+Ut35
        qx6O
        -----END CERTIFICATE-----

        """

    @Test func `a changed ca file of a connection is used after SIGHUP, and one that cannot be used leaves the old one in use`()
        async throws
    {
        try folder.write("ca.pem", Self.authority)
        let problems = Recording<String?>()
        let listener: SignalListener = { if case .rebound(_, let problem) = $0 { problems.add(problem) } }
        let assembly = try await Self.assembly(
            in: folder, settings: "connections: {ops: {kind: webhook, url: \"https://ops.example/\", rate: 7/m, ca: ca.pem}}\n",
            listeners: [listener])
        let reloader = SecretReloader(assembly, handler: nil, environment: [:])
        await reloader.reload()
        #expect(problems.all.isEmpty)
        try folder.write("ca.pem", "garbage")
        await reloader.reload()
        #expect(problems.all.map { $0?.hasSuffix("It stays as it was.") } == [true])
        #expect(assembly.connectors.limits(of: "ops").rate != nil)
        try folder.write("ca.pem", "Renewed:\n" + Self.authority)
        for _ in 1...2 { await reloader.reload() }
        #expect(problems.all.count == 2 && problems.all.last == .some(nil))
        await assembly.shutdown()
    }

    @Test func `a rule that is moved to another file stays in force, and the rest of its old file may stay`() async throws {
        let assembly = try await Self.assembly(in: folder)
        try folder.write("rules/b.yaml", Self.rule)
        try folder.write("rules/a.yaml", "# The rule is in b.yaml.\n")
        await assembly.rules.reload()
        #expect(assembly.refusedRules == nil)
        #expect(assembly.shelf.book?.rules.map { PathText.name(of: $0.file) } == ["b.yaml"])
        try folder.write("rules/b.yaml", "# It is nowhere.\n")
        try folder.write("rules/c.yaml", Self.rule.replacing("rule: r", with: "rule: c"))
        await assembly.rules.reload()
        #expect(assembly.refusedRules?.all.map(\.message) == ["this file has no rules any more; it had `r`"])
        await assembly.shutdown()
    }

    @Test func `links are watched: the one to the folder of rules, and the target of the one to a file`() async throws {
        for release in 1...2 { try folder.write("releases/\(release)/rules/a.yaml", Self.rule) }
        try folder.write("shared/b.yaml", Self.rule)
        try folder.write("plain/c.yaml", Self.rule)
        #expect(symlink("releases/1", folder.path + "/current") == 0)
        #expect(symlink("../shared/b.yaml", folder.path + "/plain/b.yaml") == 0)
        let found = RuleFinder.find([folder.path + "/current/rules", folder.path + "/plain"])
        #expect(found.rules.count == 3)
        var swaps = try Self.changes(of: found).makeAsyncIterator()
        #expect(symlink("releases/2", folder.path + "/next") == 0)
        #expect(rename(folder.path + "/next", folder.path + "/current") == 0)
        #expect(await swaps.next() != nil)
        var edits = try Self.changes(of: found).makeAsyncIterator()
        try folder.write("shared/b.yaml", Self.rule + "# edited\n")
        #expect(await edits.next() != nil)
    }

    private static func changes(of found: RuleFinder.Found) throws -> AsyncStream<Void> {
        try #require(Watcher.changes(in: Array(Set(found.folders)), names: found.names))
    }

    @Test(arguments: [("rules", "rules"), ("current/rules", "current"), ("link", "releases/next")])
    func `what is missing on the way to the rules is noticed when it is there`(place: String, missing: String) async throws {
        try folder.write("releases/1/rules/a.yaml", Self.rule)
        #expect(symlink("releases/next/rules", folder.path + "/link") == 0)
        let found = RuleFinder.find([folder.path + "/" + place])
        #expect(found.rules.isEmpty)
        var changes = try Self.changes(of: found).makeAsyncIterator()
        #expect(symlink(folder.path + "/releases/1", folder.path + "/" + missing) == 0)
        #expect(await changes.next() != nil)
    }

    @Test func `a file of any name that is named as a file of rules is watched`() async throws {
        try folder.write("lone.rules", Self.rule)
        var changes = try Self.changes(of: RuleFinder.find([folder.path + "/lone.rules"])).makeAsyncIterator()
        try folder.write("lone.rules", Self.rule + "# edited\n")
        #expect(await changes.next() != nil)
    }
}
