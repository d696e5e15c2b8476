import BellhopCore
import BellhopTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Test clock` {
    let clock = TestClock(at: .epoch)
    /// The marks of several tasks.
    private let marks = Recording<String>()

    @Test func `sleepers are woken in the order of their deadlines, each at its own time`() async throws {
        try await withThrowingTaskGroup { group in
            for seconds in [30, 10, 20, 10] {
                let before = clock.sleeperCount
                group.addTask {
                    try await clock.sleep(until: Timestamp(seconds: Int64(seconds)))
                    marks.add("\(seconds) at \(clock.now.seconds)")
                }
                try await clock.waitForSleepers(before + 1)
            }
            await clock.advance(by: .seconds(9))
            #expect(marks.all == [])
            await clock.advance(to: Timestamp(seconds: 40))
            #expect(clock.now == Timestamp(seconds: 40))
            try await group.waitForAll()
            #expect(marks.all == ["10 at 10", "10 at 10", "20 at 20", "30 at 30"])
        }
    }

    @Test func `loops that sleep repeatedly run at each of their deadlines`() async throws {
        try await withThrowingTaskGroup { group in
            for (name, period) in [("a", 40), ("b", 60)] {
                group.addTask {
                    while true {
                        try await clock.sleep(for: .seconds(period))
                        marks.add("\(name)\(clock.now.seconds)")
                    }
                }
            }
            try await clock.run(until: Timestamp(seconds: 130), awaiting: 2)
            #expect(marks.all.sorted() == ["a120", "a40", "a80", "b120", "b60"])
            #expect(clock.nextDeadline == Timestamp(seconds: 160))
            group.cancelAll()
        }
    }

    @Test func `a cancelled sleeper throws and is removed`() async throws {
        let sleeper = Task { try await clock.sleep(until: .distantFuture) }
        try await clock.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(until: .distantFuture)
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        let waiting = Task { try await clock.waitForSleepers(1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `a sleep until a past deadline returns at once`() async throws {
        try await clock.sleep(until: .epoch)
        try await clock.sleep(for: .seconds(-5))
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a jump of the clock wakes all sleepers that are due, and they see the new time`() async throws {
        try await withThrowingTaskGroup { group in
            for seconds in [10, 20] {
                group.addTask {
                    try await clock.sleep(until: Timestamp(seconds: Int64(seconds)))
                    marks.add("at \(clock.now.seconds)")
                }
            }
            try await clock.waitForSleepers(2)
            await clock.jump(to: Timestamp(seconds: 100))
            try await group.waitForAll()
            #expect(marks.all == ["at 100", "at 100"])
            await clock.jump(to: Timestamp(seconds: -100))
            #expect(clock.now == Timestamp(seconds: -100))
        }
    }
}
