import BellhopCore
import BellhopRules
import Testing

/// Requests with unknown effects to a connection that a source reads: only the budget stops a rule that triggers itself.
@Suite struct UnseenWriteTests {
    private func book(_ rules: String) throws -> RuleBook {
        let rest = ActionManifest(
            kind: "rest", summary: "Sends a request.", receiver: .named,
            arguments: [
                Setting("to", .list(.name), required: true, "Who gets it."),
                Setting("method", .oneOf(["GET", "HEAD", "POST", "PATCH"]), default: "POST", "The method."),
                Setting("path", .text, required: true, "Where it goes."),
            ])
        func source(_ name: String, _ kind: String, _ connection: String) -> RuleContext.SourceFacts {
            .init(
                name: name, kind: kind, connection: connection, schema: Fixture.schema, scope: Scope.ID(text: name), user: "ada")
        }
        let context = RuleContext(
            sources: [source("issues", "rest", "api"), source("board", "page", "api"), source("my-work", "tracker", "snow")],
            connections: [
                .init(name: "api", kind: "http", actions: ["rest"]), .init(name: "other", kind: "http", actions: ["rest"]),
                .init(name: "snow", kind: "servicenow", actions: ["comment"]),
            ],
            actions: Fixture.actions + [rest], timeZone: .utc, timeZoneName: "UTC", zone: { Fixture.zones[$0] })
        return try Fixture.book(rules, in: context)
    }

    private func events(_ count: Int, source: String = "issues") -> [Event] {
        (1...count).map { Fixture.event(.taskChanged, Fixture.task("7", number: "7"), source: source, id: "e\($0)") }
    }

    private func dead(_ routing: Routing) -> [Delivery] {
        routing.deliveries.filter { $0.death != nil }
    }

    private static let rule = "rule: r\non: task_changed\ndo:\n  - rest: {to: api, path: issues/7, method: PATCH}\n"

    @Test func `a rule that triggers itself by requests stops when the task's budget is used up`() throws {
        let book = try book(Self.rule)
        var state: RuleState = [:]
        var dead: [Delivery] = []
        // Each request causes the next event, in a batch of its own.
        for event in events(30) {
            let routing = book.route([event], state: state)
            state.apply(routing.state)
            dead += self.dead(routing)
        }
        #expect(dead.count == 20)
        #expect(dead.first?.line.contains("(dead, budget: 7 was written to 10 times by rules within 1h") == true)
        #expect(state.window(StateKey(rule: "", kind: .budget, key: "api/7")).count == 10)
        // An hour later the budget has room again.
        #expect(self.dead(book.route(events(1), state: state, at: Fixture.start + .seconds(3600))) == [])
    }

    @Test func `a limit raises the budget for such requests, and is enforced`() throws {
        let book = try book("limit: 20/h\n" + Self.rule)
        #expect(book.warnings.isEmpty)
        #expect(dead(book.route(events(30))).count == 10)
    }

    @Test(arguments: ["to: api, path: a, method: GET", "to: api, path: a, method: HEAD", "to: other, path: a"])
    func `a request without effect, or to a connection without sources, is not counted`(_ request: String) throws {
        let book = try book("rule: r\non: task_changed\ndo:\n  - rest: {\(request)}\n")
        let routing = book.route(events(30))
        #expect(routing.deliveries.count == 30 && dead(routing) == [] && routing.state == [])
    }

    @Test func `rules of two systems that trigger each other by requests stop`() throws {
        let book = try book(Self.rule + "from: my-work\n")
        #expect(dead(book.route(events(12, source: "my-work"))).count == 2)
    }

    @Test func `a page that a request changes has a budget like a task`() throws {
        let book = try book("rule: r\non: page_changed\ndo:\n  - rest: {to: api, path: count}\n")
        let events = (1...12).map { Fixture.event(.pageChanged, nil, source: "board", id: "e\($0)") }
        #expect(dead(book.route(events)).count == 2)
    }

    @Test func `requests of a schedule are not limited`() throws {
        let book = try book("rule: r\non: {every: 1m}\ndo:\n  - rest: {to: api, path: beat}\n")
        let events = (1...12).map { Fixture.event(.scheduleDue, nil, source: "r", id: "e\($0)") }
        let routing = book.route(events)
        #expect(routing.deliveries.count == 12 && dead(routing) == [])
    }
}
