import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct DisabledRuleTests {
    @Test func `a rule that is turned off is checked but never runs`() throws {
        let book = try RoutingTests.log("enabled: false")
        #expect(book.rules.map(\.mode) == [.off])
        #expect(book.route([Fixture.event()]).deliveries.isEmpty)
        #expect(try RoutingTests.log("enabled: true").route([Fixture.event()]).deliveries.count == 1)
        #expect(
            Fixture.diagnostics("rule: r\non: task_created\nenabled: false\nwhen: task.clas\ndo: [{log: x}]").contains("`clas`"))
    }

    @Test func `the schedule of a rule that is turned off never comes due`() throws {
        let book = try RoutingTests.log("enabled: false", on: "{every: 1m}", text: "x")
        #expect(book.registrations(at: Fixture.start).map(\.schedule) == [nil])
        let firing = book.fire("r", due: Fixture.start, at: Fixture.start)
        #expect(firing.events.isEmpty && firing.timers.isEmpty)
    }
}
