import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@testable import BellhopAgent

@Suite(.timeLimit(.minutes(2))) struct ReloaderTests {
    private static let rule = "rule: r\non: {schedule: \"30 8 * * MON-FRI\"}\ndo: [{log: {text: Good morning}}]\n"

    @Test func `changed rules that the store did not take are loaded again after a while`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("rules/a.yaml", Self.rule)
        let file = try folder.write("bellhop.yaml", "version: 1\n")
        let keychain = Keychain(path: folder.path + "/keychain.json")
        let clock = TestClock()
        let (failures, failed) = AsyncStream<String>.makeStream()
        let listener: SignalListener = { signal in
            if case .storeFailed(let doing, _, _) = signal { failed.yield(doing) }
        }
        let configuration = try await ConfigurationLoader(environment: [:], keychain: keychain).load(file)
        let assembly = try await Assembly(
            configuration, options: Assembly.Options(clock: clock, listeners: [listener], output: { _ in }))
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
}
