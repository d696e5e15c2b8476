import BellhopTesting
import Testing

/// Comments, updates, files and records are written exactly once and in order: with lost requests and answers, requests that take effect
/// late, and a process that dies at any request, at any note, and before the end of an attempt is stored.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of writes` {
    @Test(arguments: 0..<4) func `each write of a random history is made once, and those of a lane in their order`(
        _ part: Int
    ) async throws {
        for number in 0..<RandomRuns.count(60) {
            let seed = RandomRuns.seed(UInt64(part * 1_000_000 + number))
            var history = try WriteHistory(seed: seed)
            try await history.run()
            #expect(history.problems == [], "history \(seed)")
            if !history.problems.isEmpty { return }
        }
    }
}
