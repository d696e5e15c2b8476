import BellhopTesting
import Testing

/// Every change is reported once and in order for each task: with rows of one second, late commits, edits and deletions between
/// pages, rows hidden by access rules, cancelled transactions, lost connections and restarts.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of tables` {
    @Test(arguments: 0..<8) func `every change in a random history of a table is reported once`(_ part: Int) async throws {
        for number in 0..<RandomRuns.count(150) {
            let seed = RandomRuns.seed(UInt64(part * 1_000_000 + number))
            var history = try TableHistory(seed: seed)
            try await history.run(steps: 6 + number % 12)
            #expect(history.problems == [], "history \(seed)")
            if !history.problems.isEmpty { return }
        }
    }
}
