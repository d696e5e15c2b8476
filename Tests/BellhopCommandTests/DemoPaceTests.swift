import BellhopCore
import BellhopEngine
import Simulator
import Testing

@testable import bellhop

/// When the next change of the demonstration may happen.
@Suite struct DemoPaceTests {
    private let pace = DemoPace(sources: ["a", "b"], maxRefusals: 3)

    private func poll(_ source: String, finds events: Int = 0) {
        let signal: Signal =
            events == 0
            ? .unchanged(source: source, tasks: 2, took: .zero) : .polled(source: source, tasks: 2, events: events, took: .zero)
        pace.observe(signal)
    }

    private func deliver() {
        let id = Delivery.ID(occasion: Occasion.event(Event.ID("e")).id, rule: "r", step: StepPath(index: 0), receiver: "ops")
        let delivery = Delivery(
            id: id, revision: "", action: "notify", arguments: .values([:]), task: nil, lane: "", createdAt: Demo.start)
        pace.observe(.delivered(delivery, Receipt("200"), attempt: 1, took: .zero))
    }

    @Test func `the next change comes after two polls of each source and a delivered message`() {
        for _ in 0..<2 { poll("a") }
        poll("b", finds: 1)
        deliver()
        #expect(!pace.isReady)
        poll("b")
        #expect(pace.isReady)
        pace.follow(.watched)
        #expect(pace.isReady)
        pace.follow(.happened(.deleted(task: "x")))
        #expect(!pace.isReady)
    }

    @Test func `polls alone are not enough before the first message`() {
        for source in ["a", "a", "b", "b"] { poll(source) }
        #expect(!pace.isReady)
        deliver()
        #expect(pace.isReady)
    }

    @Test func `after waiting in vain for the agent, the demonstration continues to its end`() {
        #expect((0..<5).map { _ in pace.isReady } == [false, false, false, true, true])
        pace.follow(.happened(.deleted(task: "x")))
        #expect(pace.isReady)
    }
}
