import BellhopCore
import BellhopTesting
import Synchronization
import Testing

@testable import BellhopConnectors

@Suite struct HostPauseTests {
    /// Stores the first note only when it is released.
    private final class SlowNotebook: Notebook {
        private struct State {
            var calls = 0
            var stored: [JSON?] = []
        }

        private let state = Mutex(State())
        private let (releases, release) = AsyncStream<Void>.makeStream()

        var calls: Int { state.withLock { $0.calls } }
        var last: JSON? { state.withLock { $0.stored.last ?? nil } }

        func releaseFirst() { release.yield() }

        func note(_ key: String) async throws -> JSON? { nil }

        func setNote(_ key: String, to value: JSON?) async throws {
            let call = state.withLock { state in
                state.calls += 1
                return state.calls
            }
            if call == 1 { for await _ in releases { break } }
            state.withLock { $0.stored.append(value) }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `of two pauses that are noted at the same time, the longer one is stored last`() async {
        let (clock, notebook) = (TestClock(), SlowNotebook())
        let pause = HostPause(connection: "api", place: "example.com", notebook: notebook, clock: clock)
        let answers = [30, 90].map { HTTPResponse(status: 429, headers: ["Retry-After": "\($0)"]) }
        async let short: Void = pause.note(answers[0])
        while notebook.calls == 0 { await Task.yield() }
        async let long: Void = pause.note(answers[1])
        await clock.settle()
        notebook.releaseFirst()
        _ = await (short, long)
        #expect(notebook.last == .string((clock.now + .seconds(90)).rfc3339))
    }
}
