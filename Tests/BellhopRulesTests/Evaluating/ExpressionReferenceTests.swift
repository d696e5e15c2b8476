import BellhopCore
import CEL
import Testing

@testable import BellhopRules

@Suite struct ExpressionReferenceTests {
    @Test func `the documentation names every name and function that rules add to the language`() throws {
        let context = Fixture.context()
        let shared = SharedNameCache(context).names(for: context.taskSources)
        let events = [EventType.taskCommented].compactMap { context.events[$0] }
        var names = RuleNames(shared, rule: "r", events: events, zone: "UTC")
        names.declare(["for", "count", "group"])
        names.declareDigest()
        #expect(Set(ExpressionReference.names.map(\.name)) == Set(names.environment.variables.keys).union(["answered"]))
        let functions = Set(ExpressionReference.functions.compactMap { $0.call.split(separator: "(").first.map(String.init) })
        let added = RuleFunctions.all(names.types) + CalendarFunctions.all(context.calendars)
        #expect(functions == Set(added.map(\.name) + names.environment.selectors.keys))
    }
}
