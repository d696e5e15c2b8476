import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct CreateActionTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    var made: [SimulatedTask] { instance.tasks.filter { $0.id != task.id } }
    let post = "/api/now/v2/table/problem"

    init() { task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe") }

    private func create(_ fields: JSON.Object = ["short_description": "Why?"], _ more: JSON.Object = [:]) -> Delivery {
        let usual: JSON.Object = [
            "table": "problem", "fields": .object(fields), "correlation_field": "correlation_id", "display": false,
        ]
        return .write("create", JSON.Object(usual, with: more), on: task.id)
    }

    @Test func `a record is created with the delivery's id, and its number is in the receipt`() async throws {
        let delivery = create(["short_description": "Why?", "priority": 2, "parent": .string(task.id)])
        let receipt = try await practice.perform(delivery, practice.attempt(1))
        let problem = try #require(made.first)
        #expect(receipt.summary == "201, \(problem.number) (\(problem.id))")
        #expect(receipt.reference?.hasSuffix("/\(problem.id)") == true)
        #expect(problem["correlation_id"] == "bellhop-\(delivery.id.text)")
        #expect(problem.title == "Why?")
        #expect(problem["parent"] == task.id)
    }

    @Test func `no record is created if one has the key already`() async throws {
        let first = try await practice.perform(
            create([:], ["correlation": "fall-1", "fields": ["short_description": "A"]]), practice.attempt(1))
        var other = create(["short_description": "B"], ["correlation": "fall-1"])
        other.id.occasion = Occasion.ID("event/2")
        let second = try await practice.perform(other, practice.attempt(1))
        #expect(made.map(\.title) == ["A"])
        #expect(second.reference?.suffix(32) == first.reference?.suffix(32))
        #expect(second.summary.hasPrefix("there already, PRB"))
    }

    @Test func `a record whose key differs in case is another record`() async throws {
        for (number, key) in ["host-ä", "HOST-Ä", "host-ä"].enumerated() {
            var delivery = create([:], ["correlation": .string(key), "fields": ["short_description": .string(key)]])
            delivery.id.occasion = Occasion.ID("event/\(number)")
            _ = try await practice.perform(delivery, practice.attempt(1))
        }
        #expect(made.map(\.title) == ["host-ä", "HOST-Ä"])
    }

    @Test func `two connections to one instance create one record for one key`() async throws {
        let environment = practice.environment()
        let post = post
        let address = try await practice.simulation.serve()
        let connections = try ["snow", "other"].map { name in
            try ServiceNowConnection(name: name, settings: practice.settings(address), in: environment)
        }
        for connection in connections { _ = try await connection.verifyUser() }
        // Long enough for the other connection to look meanwhile.
        practice.simulation.faults.add(.slow(milliseconds: 200), "POST", path: post, times: nil)
        let receipts = try await withThrowingTaskGroup(of: Receipt.self) { group in
            for (number, connection) in connections.enumerated() {
                var delivery = create([:], ["correlation": "fall-1", "fields": ["short_description": "A"]])
                delivery.id.occasion = Occasion.ID("event/\(number)")
                let (one, attempt) = (delivery, practice.attempt(1))
                group.addTask {
                    try await CreateAction(connection: connection, times: WriteTimes(lookupWaits: [])).perform(
                        one, attempt: attempt)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(made.count == 1)
        #expect(receipts.count { $0.summary.hasPrefix("there already") } == 1)
        for connection in connections { try await connection.shutdown() }
    }

    @Test(arguments: WriteFault.all)
    func `a record is created exactly once, whatever the network does`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        let receipt = try await practice.persist(create())
        #expect(made.count == 1)
        #expect(receipt.reference?.hasSuffix(made.first?.id ?? "?") == true)
    }

    @Test(arguments: WriteFault.refusals)
    func `a record created although the answer was a refusal is found`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        #expect(try await practice.perform(create(), practice.attempt(1)).summary.hasPrefix("found written ("))
        #expect(made.count == 1)
    }

    @Test(arguments: WriteFault.all)
    func `a record is created once even if the lookup is lost too`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        practice.simulation.faults.add(.badGateway, "GET", path: post, skip: 1, times: 2)
        _ = try await practice.persist(create())
        #expect(made.count == 1)
    }

    @Test func `a request is not repeated while the first may still be running`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST")
        let delivery = create()
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(40))
        let early = await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(early?.remedy == .retry(after: .seconds(80)))
        #expect(practice.simulation.requests.count("POST") == 1)
    }

    @Test func `no record is created if its existence cannot be checked`() async throws {
        instance.addTask("problem", title: "Old", fields: ["correlation_id": "k"])
        instance.changeUser("john.doe") { $0.tasks = .hidden }
        let delivery = create(["short_description": "x"], ["correlation": "k"])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .giveUp)
        instance.changeUser("john.doe") { $0.tasks = .forbidden }
        await practice.clock.advance(by: .seconds(120))
        #expect(await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))?.remedy == .hold)
        #expect(practice.simulation.requests.count("POST") == 0)
    }

    @Test func `a person's retry settles an unknown outcome once`() async throws {
        let delivery = create(["short_description": "x"], ["correlation": "k"])
        practice.simulation.faults.add(.resetBefore, "POST")
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.addTask("problem", title: "Old", fields: ["correlation_id": "k"])
        instance.changeUser("john.doe") { $0.tasks = .hidden }
        await practice.clock.advance(by: .seconds(40))
        // Too early: the attempt waits, and the person's order is kept meanwhile.
        let early = await practice.failing(delivery, practice.attempt(1, uncertain: Practice.start))
        #expect(early?.remedy == .retry(after: .seconds(80)))
        await practice.clock.advance(by: .seconds(80))
        practice.simulation.faults.add(.resetBefore, "POST")
        let second = practice.clock.now
        #expect(await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(200))
        #expect(await practice.failing(delivery, practice.attempt(3, uncertain: second))?.remedy == .hold)
        #expect(practice.simulation.requests.count("POST") == 2)
    }

    @Test func `of two simultaneous deliveries with the same key, one creates the record`() async throws {
        let first = create(["short_description": "A"], ["correlation": "fall-1"])
        var later = create(["short_description": "B"], ["correlation": "fall-1"])
        later.id.occasion = Occasion.ID("event/2")
        let second = later
        practice.simulation.faults.add(.slow(milliseconds: 300), "POST")
        let action = try await CreateAction(connection: practice.open())
        async let one = action.perform(first, attempt: practice.attempt(1))
        async let other = action.perform(second, attempt: practice.attempt(1))
        let references = try await [one.reference, other.reference]
        #expect(made.count == 1)
        #expect(Set(references).count == 1)
    }

    @Test func `an identifying field that the table lacks is noticed before a record is created`() async throws {
        instance.addTask("problem", title: "Old")
        practice.simulation.faults.add(.sloppyQueries, times: nil)
        let failure = await practice.failing(
            create(["short_description": "x"], ["correlation_field": "u_nothing"]), practice.attempt(1))
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("no field `u_nothing`") == true)
        #expect(practice.simulation.requests.count("POST") == 0)
    }

    @Test func `a field that was not stored is named with the record's number, and no second record is created`() async throws {
        practice.simulation.faults.add(.sloppyQueries, times: nil)
        instance.changeUser("john.doe") { $0.readOnlyFields = ["category"] }
        let delivery = create(["short_description": "x", "category": "network", "colour": "red"])
        let failure = await practice.failing(delivery, practice.attempt(1))
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("\(made[0].number) was created in problem") == true)
        #expect(failure?.message.contains("`category` (it stayed empty), `colour` (there is no such field") == true)
        let again = try await practice.perform(delivery, practice.attempt(1))
        #expect(again.summary.hasPrefix("there already"))
        #expect(made.count == 1)
    }

    @Test func `a refusal is given up with the instance's own message`() async throws {
        practice.simulation.faults.add(.dataPolicy, "POST")
        #expect(await practice.failing(create(), practice.attempt(1))?.message.contains("mandatory") == true)
        instance.changeUser("john.doe") { $0.creates = .refused }
        #expect(await practice.failing(create(), practice.attempt(1))?.remedy == .giveUp)
        #expect(
            await practice.failing(create([:], ["table": "no_table", "fields": ["a": 1]]), practice.attempt(1))?.message.contains(
                "Invalid table") == true)
        #expect(made.isEmpty)
    }

    @Test(arguments: ["javascript:gs.log()", "javascript:\u{200D}gs.log()", "", " x", "a\nb", String(repeating: "x", count: 101)])
    func `an invalid key is given up`(_ key: String) async throws {
        let failure = await practice.failing(
            create(["short_description": "x"], ["correlation": .string(key)]), practice.attempt(1))
        #expect(failure?.reason == .badArguments)
        #expect(practice.simulation.requests.total == 0)
    }

    @Test func `a key containing the separator of queries is one key`() async throws {
        let delivery = create(["short_description": "x"], ["correlation": "a^ORactive=true"])
        instance.addTask("problem", title: "Old")
        _ = try await practice.perform(delivery, practice.attempt(1))
        _ = try await practice.perform(delivery, practice.attempt(1))
        #expect(made.count == 2)
    }
}
