import BellhopCore
import BellhopEngine
import BellhopTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A bell` {
    @Test func `a ring before the wait ends it at once`() async {
        let bell = Bell()
        bell.ring()
        await bell.wait(until: nil, on: TestClock())
    }

    @Test func `several rings before a wait count as one`() async throws {
        let (bell, clock) = (Bell(), TestClock())
        for _ in 0..<3 { bell.ring() }
        await bell.wait(until: nil, on: clock)
        async let second: Void = bell.wait(until: clock.now + .seconds(5), on: clock)
        try await clock.waitForSleepers(1)
        await clock.advance(by: .seconds(5))
        await second
    }

    @Test func `a wait for a bell ends at its deadline or when it is cancelled`() async throws {
        let (bell, clock) = (Bell(), TestClock())
        await bell.wait(until: clock.now, on: clock)
        for deadline in [nil, clock.now + .seconds(5)] {
            let task = Task { await bell.wait(until: deadline, on: clock) }
            await clock.settle()
            await task.stop()
        }
    }

    @Test func `a ring wakes all waiting tasks, and each task waits only for rings that it has not seen`() async throws {
        let (bell, clock) = (Bell(), TestClock())
        bell.ring()
        let seen = bell.rings
        await withDiscardingTaskGroup { group in
            for _ in 0..<5 { group.addTask { await bell.wait(after: seen, until: nil, on: clock) } }
            group.addTask {
                await clock.settle()
                bell.ring()
            }
        }
        await bell.wait(after: seen, until: nil, on: clock)
        let task = Task { await bell.wait(after: seen + 1, until: nil, on: clock) }
        await clock.settle()
        await task.stop()
    }

    @Test func `no ring is lost between checking for work and waiting`() async {
        // Work is counted before the ring; a loop that missed a ring would wait for ever.
        let (bell, clock) = (Bell(), TestClock())
        let work = Counter()
        let count = 20_000
        let loop = Task {
            var done = 0
            while done < count {
                done += work.take()
                if done < count { await bell.wait(until: done.isMultiple(of: 3) ? clock.now + .days(1) : nil, on: clock) }
            }
        }
        await withDiscardingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<count / 4 {
                        work.add()
                        bell.ring()
                        if number.isMultiple(of: 7) { await Task.yield() }
                    }
                }
            }
        }
        await loop.value
    }
}

/// The work left to do. A class with an atomic number, because the tasks that add and those that take share it.
private final class Counter: Sendable {
    private let count = Atomic(0)
    func add() { count.add(1, ordering: .sequentiallyConsistent) }
    func take() -> Int { count.exchange(0, ordering: .sequentiallyConsistent) }
}
