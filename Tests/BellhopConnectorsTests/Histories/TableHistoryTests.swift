import BellhopTesting
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Every change once, none lost, in order for each task: over rows of one second, late commits, edits and deletions between pages,
/// rows that access rules hide, cancelled transactions, lost connections and restarts.
@Suite(.timeLimit(.minutes(10))) struct `Random histories of tables` {
    /// How many histories each part runs; `BELLHOP_HISTORIES` sets another number.
    private static let count = getenv("BELLHOP_HISTORIES").flatMap { Int(String(cString: $0)) } ?? 150

    @Test(arguments: 0..<8) func `end as the table has it`(_ part: Int) async throws {
        for number in 0..<Self.count {
            let seed = UInt64(part * 1_000_000 + number)
            var history = try TableHistory(seed: seed)
            try await history.run(steps: 6 + number % 12)
            #expect(history.problems == [], "history \(seed)")
            if !history.problems.isEmpty { return }
        }
    }
}
