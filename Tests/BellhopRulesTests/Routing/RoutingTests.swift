import BellhopCore
import BellhopRules
import Testing

@Suite struct RoutingTests {
    @Test func `a new incident is acknowledged on its own connection`() throws {
        let book = try Fixture.book(
            """
            rule: ack
            on: task_created
            from: my-work
            when: task.class == "incident"
            once: task.id
            do:
              - comment: Thanks, ${{ task.number }} is in my queue.
            """)
        let routing = book.route([Fixture.event()])
        #expect(routing.routed == [1])
        #expect(
            routing.deliveries.map(\.line) == [
                #"ack/0 comment → snow: {"text":"Thanks, INC0010021 is in my queue.","visibility":"internal"}"#
            ])
        #expect(routing.deliveries.map(\.lane) == ["task/snow/a1"])
        #expect(
            routing.state.map(\.key) == [
                StateKey(rule: "", kind: .budget, key: "snow/a1"), StateKey(rule: "ack", kind: .once, key: "a1"),
            ])
        #expect(routing.tallies == [RuleTally(rule: "ack", runs: 1, errors: 0, at: Fixture.start)])
        let problem = Fixture.task(class: "problem")
        #expect(book.route([Fixture.event(.taskCreated, problem)]).deliveries == [])
    }
}
