import BellhopCore
import BellhopRules
import Testing

/// `snapshot()`: the tasks of a source that an expression names.
@Suite struct SnapshotTests {
    private static func incident(_ id: String, priority: JSON, cost: JSON = "") -> Snapshot {
        Fixture.task(id, number: "INC\(id)", fields: ["priority": priority, "cost": cost])
    }

    private static let rule = """
        rule: r
        on: task_created
        from: my-work
        when: snapshot("incidents").exists(i, i.number == task.parent)
        do: [{log: "${{ task.number }} has a parent"}]
        """

    private static func child(of parent: String) -> Event {
        Fixture.event(.taskCreated, Fixture.task(fields: ["parent": .string(parent)]))
    }

    @Test func `a condition reads the tasks of another source, and not those of the rule's own`() throws {
        let book = try Fixture.book(Self.rule)
        let event = StoredEvent(sequence: 1, event: Self.child(of: "INCb"))
        #expect(book.match([event], since: [:]).needs.scopes == [Fixture.incidentScope])
        func runs(_ known: [Snapshot]) -> Bool {
            !book.route([event.event], tasks: [Fixture.incidentScope: known]).deliveries.isEmpty
        }
        #expect(runs([Self.incident("a", priority: 1), Self.incident("b", priority: 1)]))
        #expect(!runs([Self.incident("a", priority: 1)]))
        #expect(!runs([]))
    }

    @Test func `before a source's first poll its tasks are unknown, which is an error and not an empty list`() throws {
        let routing = try Fixture.book(Self.rule).route([Self.child(of: "INCb")])
        #expect(routing.deliveries.isEmpty)
        #expect(
            routing.tallies.map(\.lastError) == [
                "`when` failed: the tasks of `incidents` are not known: no poll has succeeded yet"
            ])
    }

    @Test func `a digest waits for the first poll of every source that it names`() throws {
        let book = try Fixture.book(
            """
            rule: r
            on: {every: 1h}
            from: my-work
            let:
              parents: snapshot("incidents")
            do: [{log: "${{ parents.size() }} of ${{ snapshot('my-work').size() }}"}]
            """)
        #expect(Set(book.scopesRead(by: "r")) == [Fixture.incidentScope, Fixture.scope])
        let own = try Fixture.book(
            "rule: r\non: {every: 1h}\nfrom: my-work\ndo: [{log: \"${{ snapshot('incidents').size() }}\"}]")
        #expect(own.scopesRead(by: "r") == [Fixture.incidentScope])
    }

    @Test func `each snapshot has the types of its own source's fields`() throws {
        // `cost` is a number in one source and a text in the other.
        let book = try Fixture.book(
            """
            rule: r
            on: task_created
            do:
              - log: "${{ snapshot('my-work').exists(t, t.cost > 1.5) && snapshot('incidents').exists(t, t.cost == '2') }}"
            """)
        let tasks = [
            Fixture.scope: [Self.incident("a", priority: 1, cost: 2.5)],
            Fixture.incidentScope: [Self.incident("b", priority: 1, cost: "2")],
        ]
        #expect(
            book.route([Fixture.event()], tasks: tasks).deliveries.map(\.line) == [
                #"r/0 log → log: {"level":"info","text":"true"}"#
            ])
    }

    @Test func `a test can give the tasks of a source that a rule reads by snapshot()`() throws {
        let test = """
            tests:
              - name: a task whose parent is open
                given:
                  - tasks: [{source: incidents, id: b, number: INCb}]
                  - task_created: {task: {id: a1, number: INC1, parent: INCb}}
                expect: [{log: INC1 has a parent}]
              - name: an event of the other source changes its tasks
                given:
                  - task_created: {task: {id: b, number: INCb}}
                    source: incidents
                  - task_created: {task: {id: a1, number: INC1, parent: INCb}}
                  - task_removed: {task: {id: b, number: INCb}}
                    source: incidents
                  - task_created: {task: {id: a2, number: INC2, parent: INCb}}
                expect: [{log: INC1 has a parent}]
            """
        for isOpen in [false, true] {
            let results = try Fixture.results(test, of: Self.rule, in: Fixture.context(isOpen: isOpen))
            #expect(results.count == 2)
            #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
        }
    }

    @Test func `a test without tasks of a source leaves them unknown, and with an empty list the source has none`() throws {
        func problems(_ tasks: String) throws -> [String] {
            let event = "      - task_created: {task: {id: a1, number: INC1, parent: INCb}}\n"
            let test = "tests:\n  - name: t\n    given:\n\(tasks)\(event)    expect: []"
            return try Fixture.results(test, of: Self.rule).flatMap(\.problems).map(\.message)
        }
        let reason = "the tasks of `incidents` are not known: no poll has succeeded yet"
        #expect(try problems("") == ["rule `r` failed: `when` failed: \(reason)"])
        #expect(try problems("      - tasks: []\n") == [])
    }

    @Test func `a test that gives tasks of an unknown source is refused`() throws {
        let test = "tests:\n  - name: t\n    given: [{tasks: [{source: incident, id: b}]}]\n    expect: []"
        let error = #expect(throws: Diagnostics.self) { try Fixture.results(test, of: Self.rule) }
        #expect(error?.all.map(\.message) == ["there is no source `incident`"])
        #expect(error?.all.map(\.help) == ["did you mean `incidents`?"])
    }
}
