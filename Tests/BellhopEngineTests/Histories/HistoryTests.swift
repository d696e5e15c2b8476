import BellhopRules
import BellhopTesting
import Testing

/// Every change is reported exactly once and in order, whatever happens in between.
@Suite(.timeLimit(.minutes(5))) struct `Random histories` {
    @Test(arguments: 0..<8) func `a random history has the outcome of the model`(_ part: Int) async throws {
        let book = try RuleBook.test(World.rule, sources: [ScriptedSource(clock: TestClock())])
        for number in 0..<RandomRuns.count(250) {
            let seed = RandomRuns.seed(UInt64(part * 1_000_000 + number))
            var history = try await History(seed: seed, book: book)
            let differences = try await history.run(steps: 8 + number % 16)
            #expect(differences == [], "history \(seed)")
        }
    }
}
