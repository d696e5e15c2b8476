import BellhopTesting
import Testing

/// The trait `.closing`, which closes what a test has opened.
@Suite(.timeLimit(.minutes(1))) struct ClosingTests {
    private struct Trouble: Error { let name: String }

    /// Runs these steps like a test of a suite with the trait.
    private static func test(_ steps: @concurrent @Sendable () async throws -> Void) async throws {
        let test = try #require(Test.current)
        try await Closing().provideScope(for: test, testCase: nil, performing: steps)
    }

    @Test func `what a test opened last is closed first, after its steps`() async throws {
        let closed = Recording<Int>()
        try await Self.test {
            for number in 1...3 { whenTestEnds { closed.add(number) } }
            #expect(closed.all.isEmpty)
        }
        #expect(closed.all == [3, 2, 1])
    }

    @Test func `a test fails with its own error, or else with the first one of its closings, and all is closed`() async throws {
        let closed = Recording<Int>()
        let own = await #expect(throws: Trouble.self) {
            try await Self.test {
                whenTestEnds { closed.add(1) }
                whenTestEnds { throw Trouble(name: "closing") }
                throw Trouble(name: "step")
            }
        }
        #expect(own?.name == "step")
        let first = await #expect(throws: Trouble.self) {
            try await Self.test {
                whenTestEnds { throw Trouble(name: "opened first") }
                whenTestEnds { closed.add(2) }
                whenTestEnds { throw Trouble(name: "opened last") }
            }
        }
        #expect(first?.name == "opened last")
        #expect(closed.all == [1, 2])
    }

    @Test func `work that does not end with its test is cancelled with it, as at the time limit`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let test = Task {
            try await Self.test {
                let value: Int = try await untilTestEnds { body in
                    try await body(1)
                    end.finish()
                    try await Task.sleep(for: .seconds(90))
                }
                #expect(value == 1)
            }
        }
        for await _ in ends {}
        test.cancel()
        await #expect(throws: CancellationError.self) { try await test.value }
    }
}
