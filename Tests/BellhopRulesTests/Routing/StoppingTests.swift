import BellhopCore
import BellhopRules
import Testing

/// Which deliveries wait for a step with `on_error: stop`.
@Suite struct StoppingTests {
    private func after(_ steps: String, mode: String = "live") throws -> [String] {
        let book = try Fixture.book("rule: r\nmode: \(mode)\non: task_created\nfrom: my-work\ndo:\n" + steps)
        return book.route([Fixture.event()]).deliveries.map { delivery in
            let waits = delivery.after.map { "\($0.step.text) → \($0.receiver)" }.joined(separator: ", ")
            return "\(delivery.id.step.text) → \(delivery.id.receiver): \(waits)"
        }
    }

    @Test func `a step waits for all deliveries of the latest stopping step before it`() throws {
        let steps = """
              - log: a
              - notify: {to: [ops, pager], title: b}
                on_error: stop
              - log: c
              - comment: d
                on_error: stop
              - notify: {to: [ops, pager], title: e}
            """
        #expect(
            try after(steps) == [
                "0 → log: ", "1 → ops: ", "1 → pager: ", "2 → log: 1 → ops, 1 → pager", "3 → snow: 1 → ops, 1 → pager",
                "4 → ops: 3 → snow", "4 → pager: 3 → snow",
            ])
    }

    @Test func `a step whose condition is false is not waited for`() throws {
        let steps = """
              - comment: a
                on_error: stop
              - log: b
                if: task.number == ""
                on_error: stop
              - log: c
            """
        #expect(try after(steps) == ["0 → snow: ", "2 → log: 0 → snow"])
    }

    @Test func `deliveries in shadow mode do not wait`() throws {
        #expect(try after("  - comment: a\n    on_error: stop\n  - log: b", mode: "shadow") == ["0 → snow: ", "1 → log: "])
    }

    @Test func `each run waits only for its own deliveries`() throws {
        let book = try Fixture.book("rule: r\non: task_created\ndo:\n  - comment: a\n    on_error: stop\n  - log: b")
        let events = ["1", "2"].map { Fixture.event(.taskCreated, Fixture.task($0), id: $0) }
        let deliveries = book.route(events).deliveries
        #expect(deliveries.map(\.after) == [[], [deliveries[0].id], [], [deliveries[2].id]])
    }
}
