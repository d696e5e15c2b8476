import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct UpdateActionTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    var now: SimulatedTask { get throws { try #require(instance.task(task.id)) } }
    var patches: Int { practice.simulation.requests.count("PATCH") }

    init() { task = practice.instance.addTask(title: "Printer", priority: 3, assignedTo: "john.doe") }

    private func update(_ fields: JSON.Object, _ more: JSON.Object = [:], class className: String = "incident") -> Delivery {
        let arguments = JSON.Object(["fields": .object(fields)], with: more)
        return .write("update", arguments, on: task.id, class: className)
    }

    @Test func `fields are set in the table of the record's class, and the answer proves it`() async throws {
        let receipt = try await practice.perform(update(["state": 2, "urgency": "1"]), practice.attempt(1))
        #expect(receipt.summary == "200, set state, urgency")
        #expect(try now["state"] == "2")
        #expect(try now["urgency"] == "1")
        #expect(practice.simulation.requests.count("PATCH", path: "/api/now/v2/table/incident/\(task.id)") == 1)
    }

    @Test(arguments: ["", "Störung", "change_request"])
    func `the class comes from the record, whatever the event says`(_ name: String) async throws {
        _ = try await practice.perform(update(["state": 2], class: name), practice.attempt(1))
        #expect(practice.simulation.requests.count("PATCH", path: "/api/now/v2/table/incident/\(task.id)") == 1)
    }

    @Test func `values that are already set are not written`() async throws {
        let receipt = try await practice.perform(update(["state": 1, "active": true]), practice.attempt(1))
        #expect(receipt.summary == "the fields already had these values")
        #expect(patches == 0)
    }

    @Test(arguments: [("1.1", "1.10"), ("1234", "01234"), ("491234", "+491234"), ("16", "0x10")])
    func `a text that is another way to write the same number is written`(_ old: String, _ new: String) async throws {
        _ = try await practice.perform(update(["short_description": .string(old)]), practice.attempt(1))
        let receipt = try await practice.perform(update(["short_description": .string(new)]), practice.attempt(1))
        #expect(receipt.summary == "200, set short_description")
        #expect(try now["short_description"] == new)
    }

    @Test func `an empty text or null clears a field`() async throws {
        _ = try await practice.perform(update(["assigned_to": "", "urgency": .null]), practice.attempt(1))
        #expect(try now.assignedTo == "")
        #expect(try now["urgency"] == "")
    }

    @Test func `display values are written with display, and proved by it`() async throws {
        let fields: JSON.Object = ["state": "In Progress", "assigned_to": "Abel Tuter"]
        _ = try await practice.perform(update(fields, ["display": true]), practice.attempt(1))
        #expect(try now["state"] == "2")
        #expect(try now.assignedTo == instance.user("abel.tuter")?.id)
    }

    @Test func `a time in a rule is written in the database's form`() async throws {
        _ = try await practice.perform(update(["due_date": "2026-01-06T10:00:00+01:00"]), practice.attempt(1))
        #expect(try now["due_date"] == "2026-01-06 09:00:00")
        let again = try await practice.perform(update(["due_date": "2026-01-06T09:00:00Z"]), practice.attempt(1))
        #expect(again.summary == "the fields already had these values")
    }

    // MARK: The expected state

    static let states: [(JSON, Bool)] = [
        ([1, 2], true), ("New", true), (["On Hold", "1"], true), (2, false), ("In Progress", false),
    ]

    @Test(arguments: states)
    func `a task that is not in the expected state is not written`(_ state: JSON, _ isWritten: Bool) async throws {
        let delivery = update(["urgency": 1], ["expect": ["state": state]])
        if isWritten {
            _ = try await practice.perform(delivery, practice.attempt(1))
        } else {
            let failure = await practice.failing(delivery, practice.attempt(1))
            #expect(failure?.reason == .movedOn)
            #expect(failure?.remedy == .giveUp)
            #expect(failure?.message.contains("`state` is '1'") == true)
        }
        #expect(try now["urgency"] == (isWritten ? "1" : "3"))
    }

    @Test func `with unless_changed, a task that changed since the event is not written`() async throws {
        let seen: JSON = [
            "short_description": "Printer", "priority": 3, "active": true, "due_date": .null, "assigned_to.name": "John Doe",
        ]
        let delivery = update(["state": 2], ["unless_changed": true, "seen": seen])
        instance.addNote("A note is no change", .workNotes, on: task.id, by: "john.doe")
        _ = try await practice.perform(delivery, practice.attempt(1))
        #expect(try now["state"] == "2")
        instance.updateTask(task.id, set: ["state": "1", "priority": "2"])
        let failure = await practice.failing(delivery, practice.attempt(1))
        #expect(failure?.reason == .movedOn)
        #expect(failure?.message.contains("`priority` has become '2' since") == true)
        #expect(patches == 1)
    }

    // MARK: The server's reaction

    @Test func `a field that the record does not have is named, and nothing is written`() async throws {
        practice.simulation.faults.add(.sloppyQueries, times: nil)
        let failure = await practice.failing(update(["state": 2, "pririty": 1]), practice.attempt(1))
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("shows no field `pririty`") == true)
        #expect(patches == 0)
    }

    @Test func `a field that access rules keep unchanged is a failure that names it`() async throws {
        instance.changeUser("john.doe") { $0.readOnlyFields = ["priority"] }
        let failure = await practice.failing(update(["state": 2, "priority": 1]), practice.attempt(1))
        #expect(failure?.reason == .notWritten)
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("did not accept `priority` (it stayed '3')") == true)
    }

    @Test func `a value changed by a rule of the instance is in the receipt`() async throws {
        practice.simulation.faults.add(.businessRule(field: "priority", value: "2"), "PATCH")
        let receipt = try await practice.perform(update(["priority": 1]), practice.attempt(1))
        #expect(receipt.summary == "200, set priority; changed by a rule of the instance: `priority` became '2'")
    }

    @Test func `a field that the write empties is a failure that names it`() async throws {
        practice.simulation.faults.add(.businessRule(field: "priority", value: ""), "PATCH")
        let failure = await practice.failing(update(["priority": 1]), practice.attempt(1))
        #expect(failure?.message.contains("`priority` (it was cleared)") == true)
    }

    @Test(arguments: [Fault.dataPolicy, .forbidden])
    func `a refusal is given up with the instance's own words`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, "PATCH")
        let failure = await practice.failing(update(["state": 6]), practice.attempt(1))
        #expect(failure?.reason == .forbidden)
        #expect(failure?.remedy == .giveUp)
        #expect(fault != .dataPolicy || failure?.message.contains("mandatory: Resolution code") == true)
    }

    @Test func `an answer of success without a write is a failure`() async throws {
        practice.simulation.faults.add(.nothingWritten, "PATCH")
        #expect(await practice.failing(update(["state": 2]), practice.attempt(1))?.reason == .notWritten)
    }

    @Test func `a task that no longer exists is not written`() async throws {
        instance.deleteTask(task.id)
        #expect(await practice.failing(update(["state": 2]), practice.attempt(1))?.reason == .goneOrHidden)
        #expect(patches == 0)
    }

    @Test(arguments: ["comments", "work_notes", "sys_id", "a.b", ""])
    func `an invalid field is given up without a request`(_ name: String) async throws {
        #expect(await practice.failing(update([name: "x"]), practice.attempt(1))?.reason == .badArguments)
        #expect(await practice.failing(update(["state": ["a"]]), practice.attempt(1))?.reason == .badArguments)
        #expect(practice.simulation.requests.total == 0)
    }

    // MARK: Network failures

    @Test(arguments: WriteFault.all)
    func `an update is written exactly once, whatever the network does`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(
            FaultRule(writeFault.fault, method: "PATCH", takesEffect: writeFault.takesEffect))
        _ = try await practice.persist(update(["state": 2, "urgency": 1]))
        #expect(try now["state"] == "2")
        #expect(try now.updates == task.updates + 1)
    }

    @Test func `if the lookup is lost too, the next attempt finds the update and sends nothing`() async throws {
        practice.simulation.faults.add(.resetAfter, "PATCH")
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", skip: 1)
        let delivery = update(["state": 2])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        let receipt = try await practice.perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(receipt.summary == "found written by an earlier attempt")
        #expect(patches == 1)
    }

    @Test func `after a lost attempt, a number that the server writes in its own way is found`() async throws {
        practice.simulation.faults.add(.resetAfter, "PATCH")
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", skip: 1)
        let seen: JSON.Object = ["short_description": "Printer"]
        let delivery = update(["short_description": "1.10"], ["unless_changed": true, "seen": .object(seen)])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.updateTask(task.id, set: ["short_description": "1.1"], by: "john.doe")
        let receipt = try await practice.perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(receipt.summary == "found written by an earlier attempt")
        #expect(patches == 1)
    }

    @Test(arguments: ["nan", "NaN"])
    func `a text that is no number although it reads like one is written`(_ text: String) async throws {
        let receipt = try await practice.perform(update(["short_description": .string(text)]), practice.attempt(1))
        #expect(receipt.summary == "200, set short_description")
    }

    @Test(arguments: [[:], ["expect": ["state": 1]]] as [JSON.Object])
    func `a person's change after a lost attempt is not overwritten`(_ more: JSON.Object) async throws {
        practice.simulation.faults.add(.resetAfter, "PATCH")
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", skip: 1)
        let delivery = update(["state": 2], more)
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.updateTask(task.id, set: ["state": "3"], by: "abel.tuter")
        // Until the first request can no longer take effect, later updates wait.
        let early = await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(early?.remedy == .retry(after: .seconds(120)))
        await practice.clock.advance(by: .seconds(120))
        let failure = await practice.failing(delivery, practice.attempt(3, uncertain: Practice.start))
        #expect(failure?.reason == .movedOn)
        #expect(failure?.message.contains("may have written it") == true)
        #expect(try now["state"] == "3")
        #expect(patches == 1)
    }

    @Test func `an update whose outcome is unknown is held if its task is hidden or gone since`() async throws {
        practice.simulation.faults.add(.resetAfter, "PATCH")
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", skip: 1)
        let delivery = update(["state": 2])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.deleteTask(task.id)
        let failure = await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(failure?.reason == .goneOrHidden && failure?.remedy == .hold)
    }

    @Test func `a change of another field after a lost attempt does not matter`() async throws {
        practice.simulation.faults.add(.resetBefore, "PATCH")
        let delivery = update(["state": 2])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.updateTask(task.id, set: ["urgency": "1"], by: "abel.tuter")
        await practice.clock.advance(by: .seconds(120))
        _ = try await practice.perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(try now["state"] == "2")
    }

    @Test func `an update is not sent again, nor done, while the first request could undo a later update`() async throws {
        practice.simulation.faults.add(.resetBefore, "PATCH")
        let delivery = update(["state": 2])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(40))
        let early = await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(early?.remedy == .retry(after: .seconds(80)))
        #expect(patches == 1)
    }

    @Test func `a person's change is not overwritten although the end of the successful attempt was not stored`() async throws {
        let delivery = update(["state": 2])
        _ = try await practice.perform(delivery, practice.attempt(1))
        instance.updateTask(task.id, set: ["state": "3"], by: "abel.tuter")
        await practice.clock.advance(by: .seconds(300))
        let failure = await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(failure?.reason == .movedOn)
        #expect(try now["state"] == "3")
    }

    @Test func `a last attempt without a lookup is held if an earlier one may have written`() async throws {
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", times: nil)
        var delivery = update(["state": 2])
        delivery.retry.attempts = 2
        #expect(await practice.failing(delivery, practice.attempt(2))?.remedy == .retry(after: nil))
        #expect(await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))?.remedy == .hold)
    }
}
