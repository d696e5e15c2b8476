import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

/// Deliveries on a machine whose clock is set.
@Suite(.timeLimit(.minutes(5))) struct `Deliveries and the clock` {
    @Test func `a clock that is put back holds up no retry`() async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let action = ScriptedAction { _, attempt throws(Failure) in
            if attempt.number == 1 { throw Failure(.throttled, .retry(after: .seconds(600)), "429") }
            return Receipt("done")
        }
        try await bench.owe([Owed("a")])
        let surroundings = bench.surroundings
        let loop = Task { await Dispatcher(surroundings, actions: { _ in action }).run() }
        await bench.run(until: bench.now + .seconds(5))
        #expect(action.count == 1)
        // Its next try is due three days and ten minutes from now, by the clock as it is now.
        wall.set(by: .days(-3))
        await bench.run(until: bench.now + .seconds(300))
        loop.cancel()
        await loop.value
        #expect(action.count == 2)
        #expect(try await bench.deliveries().map(\.state) == [.done])
    }

    @Test(arguments: [Duration.days(1), .days(-1), .seconds(90), .seconds(-90)])
    func `a clock that jumps is told once`(_ jump: Duration) async throws {
        let wall = WallClock()
        let bench = try Bench(clock: wall.steady, wall: wall)
        let surroundings = bench.surroundings
        let loop = Task { await Maintenance(surroundings, retention: Retention()).run() }
        await bench.run(until: bench.now + .seconds(600))
        #expect(bench.jumps == [], "time that passes is no jump")
        wall.set(by: jump)
        await bench.run(until: bench.now + .seconds(600))
        loop.cancel()
        await loop.value
        #expect(bench.jumps == [jump])
    }
}

extension Bench {
    fileprivate var jumps: [Duration] {
        recorder.all.compactMap { signal in if case .clockJumped(let by) = signal { by } else { nil } }
    }
}
