import BellhopTesting
import Foundation
import Simulator
import Testing

/// Every command and diagnostic, compared as a whole with a page. `BELLHOP_RECORD=1 swift test --filter Golden` writes the
/// pages again: read the difference before you commit it.
@Suite struct GoldenTests {
    static let pages: [String] = {
        let folder = Repository.root.appending(path: "Tests/BellhopCommandTests/Golden").path
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".txt") }.sorted()
    }()

    @Test(arguments: pages) func `the commands of a page print its recorded output`(_ name: String) async throws {
        let file = Repository.root.appending(path: "Tests/BellhopCommandTests/Golden/\(name)")
        let written = try String(contentsOf: file, encoding: .utf8)
        let page = GoldenPage(written)
        let folder = try TemporaryFolder()
        let simulation = Simulation(now: { Int64(Date.now.timeIntervalSince1970 * 1_000_000) })
        simulation.instance.addUser("john.doe", password: "secret", name: "John Doe")
        simulation.instance.addClient("bellhop", secret: "s3cret") { client in
            client.user = "john.doe"
            client.redirects = ["http://127.0.0.1:8912/callback"]
        }
        simulation.instance.addAPIKey("a-key", of: "john.doe")
        simulation.instance.addTask("incident", title: "My computer doesn't work", priority: 2, assignedTo: "john.doe")
        simulation.addOtherSystems(account: "ada@example.com", password: "secret", secret: "s3cret")
        let answers = try await SimulatorServer(simulation).serve { address in
            try await page.run(in: folder.path, replacing: [("INSTANCE", address)])
        }
        let printed = page.text(answers: answers)
        if ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil { try Data(printed.utf8).write(to: file) }
        let difference = Self.difference(printed, written)
        #expect(difference == nil)
    }

    /// The first line that differs, so that the failure itself names it.
    private static func difference(_ printed: String, _ written: String) -> String? {
        let lines = [printed, written].map { $0.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
        for index in 0..<max(lines[0].count, lines[1].count) {
            let (now, before) = (
                lines[0].indices.contains(index) ? lines[0][index] : nil, lines[1].indices.contains(index) ? lines[1][index] : nil
            )
            if now != before { return "line \(index + 1) is \(now.debugDescription), the page has \(before.debugDescription)" }
        }
        return nil
    }
}
