import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Reading the tasks of the next deliveries ahead, and the limits of using that data.
@Suite(.closing) struct ReadAheadTests {
    let practice = Practice()
    var instance: SimulatedInstance { practice.instance }
    var start: Timestamp { Practice.start }

    /// Tasks with a delivery for each.
    private func tasks(_ count: Int) -> [SimulatedTask] {
        (0..<count).map { instance.addTask(title: "Printer \($0)", assignedTo: "john.doe") }
    }

    /// Performs deliveries one after the other on one connection, each with the list of the next ones. Returns the number of
    /// requests without those of the login.
    @discardableResult
    private func perform(
        _ deliveries: [Delivery], uncertain: Timestamp? = nil, over connection: ServiceNowConnection? = nil,
        _ action: (ServiceNowConnection) -> any Action
    ) async throws -> Int {
        let connection = try connection ?? practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        _ = try await connection.writers.all[0].verify(force: true)
        let before = practice.simulation.requests.count()
        for (place, delivery) in deliveries.enumerated() {
            var attempt = practice.attempt(uncertain == nil ? 1 : 2, uncertain: uncertain)
            attempt.upcoming = deliveries[(place + 1)...].prefix(20).compactMap { $0.task?.subject }
            _ = try await action(connection).perform(delivery, attempt: attempt)
        }
        return practice.simulation.requests.count() - before
    }

    private func comments(_ tasks: [SimulatedTask]) -> [Delivery] {
        tasks.map { .comment("Thanks", on: $0.id, occasion: "event/\($0.id)") }
    }

    private let comment: @Sendable (ServiceNowConnection) -> any Action = {
        CommentAction(connection: $0, times: WriteTimes(lookupWaits: []))
    }

    // MARK: After an unknown outcome

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `many comments with unknown outcomes are looked for together, and only missing ones are written`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        let tasks = tasks(60)
        // So that no history is empty.
        for task in tasks { instance.addNote("Earlier", .workNotes, on: task.id, by: "abel.tuter") }
        for (place, task) in tasks.enumerated() where !place.isMultiple(of: 3) {
            instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        }
        await practice.clock.advance(by: .seconds(130))
        let requests = try await perform(comments(tasks), uncertain: start, comment)
        for task in tasks { #expect(instance.journal(of: task.id, .workNotes).count == 2) }
        // 20 comments are written and proved.
        #expect(requests <= 20 * 2 + 12, "\(requests) requests")
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `data read while a request may still be running does not prove that it wrote nothing`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        let tasks = tasks(3)
        for task in tasks.prefix(2) { instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe") }
        // So that the history of the last task is not empty.
        instance.addNote("Earlier", .workNotes, on: tasks[2].id, by: "abel.tuter")
        await practice.clock.advance(by: .seconds(150))
        let uncertain = practice.clock.now - .seconds(100)
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        let deliveries = comments(tasks)
        try await perform([deliveries[0]], uncertain: start, over: connection, comment)
        var attempt = practice.attempt(2, uncertain: start)
        attempt.upcoming = [deliveries[2]].compactMap { $0.task?.subject }
        _ = try await comment(connection).perform(deliveries[1], attempt: attempt)
        await practice.clock.advance(by: .seconds(10))
        instance.addNote("Thanks", .workNotes, on: tasks[2].id, by: "john.doe")
        await practice.clock.advance(by: .seconds(15))
        let last = try await comment(connection).perform(deliveries[2], attempt: practice.attempt(2, uncertain: uncertain))
        #expect(last.summary.hasPrefix("found written by an earlier attempt"))
        #expect(instance.journal(of: tasks[2].id, .workNotes).count == 2)
    }

    // MARK: Histories

    @Test func `with only histories, tasks of several classes are each written to once`() async throws {
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        let tasks = (0..<12).map { place in
            instance.addTask(place.isMultiple(of: 2) ? "incident" : "problem", title: "Printer \(place)", assignedTo: "john.doe")
        }
        var deliveries = comments(tasks)
        for place in deliveries.indices where !place.isMultiple(of: 2) { deliveries[place].task?.className = "problem" }
        try await perform(deliveries, comment)
        for task in tasks { #expect(instance.journal(of: task.id, .workNotes).count == 1) }
    }

    @Test func `an equal text from our account from before the lookup proves nothing, even with data read ahead`() async throws {
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        let tasks = tasks(4)
        for task in tasks { instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe") }
        try await perform(comments(tasks), comment)
        for task in tasks { #expect(instance.journal(of: task.id, .workNotes).count == 2) }
    }

    // MARK: Fields and files

    private func updates(_ tasks: [SimulatedTask], _ more: JSON.Object = [:]) -> [Delivery] {
        let arguments = JSON.Object(["fields": ["state": 2]], with: more)
        return tasks.map { .write("update", arguments, on: $0.id, occasion: "event/\($0.id)") }
    }

    @Test func `tasks that are updated unconditionally are read together`() async throws {
        let tasks = tasks(42)
        let requests = try await perform(updates(tasks)) { UpdateAction(connection: $0) }
        for task in tasks { #expect(instance.task(task.id)?["state"] == "2") }
        #expect(requests <= 42 + 3, "\(requests) requests")
    }

    @Test func `a task with an expected state is read just before its update`() async throws {
        let tasks = tasks(5)
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        let deliveries = updates(tasks, ["expect": ["priority": [4]]])
        instance.updateTask(tasks[1].id, set: ["priority": "4"])
        try await perform(updates([tasks[0]]), over: connection) { UpdateAction(connection: $0) }
        var attempt = practice.attempt(1)
        attempt.upcoming = deliveries.compactMap { $0.task?.subject }
        _ = try await UpdateAction(connection: connection).perform(
            .write("update", ["fields": ["state": 2, "priority": 1]], on: tasks[2].id), attempt: attempt)
        instance.updateTask(tasks[1].id, set: ["priority": "2"])
        let refused = await failure {
            _ = try await UpdateAction(connection: connection).perform(deliveries[1], attempt: practice.attempt(1))
        }
        #expect(refused?.reason == .movedOn)
    }

    @Test func `data read before a write to the task, or before the event, is not used`() async throws {
        let tasks = tasks(3)
        let connection = try practice.connection(over: InProcessExchange(practice.simulation)).untilTestEnds()
        func set(_ state: Int, _ task: SimulatedTask, next: [SimulatedTask] = [], createdAt: Timestamp = .epoch) async throws
            -> Receipt
        {
            var delivery = Delivery.write(
                "update", ["fields": ["state": .int(Int64(state))]], on: task.id, occasion: "event/\(state)")
            delivery.createdAt = createdAt
            var attempt = practice.attempt(1)
            attempt.upcoming = updates(next).compactMap { $0.task?.subject }
            return try await UpdateAction(connection: connection).perform(delivery, attempt: attempt)
        }
        _ = try await set(2, tasks[0], next: [tasks[1], tasks[2]])
        _ = try await set(2, tasks[1])
        #expect(try await set(1, tasks[1]).summary == "200, set state")
        #expect(instance.task(tasks[1].id)?["state"] == "1")
        await practice.clock.advance(by: .seconds(5))
        instance.updateTask(tasks[2].id, set: ["state": "2"])
        let event = practice.clock.now
        #expect(try await set(1, tasks[2], createdAt: event).summary == "200, set state")
        #expect(instance.task(tasks[2].id)?["state"] == "1")
    }

    @Test func `tasks that get attachments are read together`() async throws {
        let tasks = tasks(42)
        let deliveries = tasks.map {
            Delivery.write("attach", ["name": "log.txt", "text": "x"], on: $0.id, occasion: "event/\($0.id)")
        }
        let requests = try await perform(deliveries) { AttachAction(connection: $0) }
        for task in tasks { #expect(instance.attachments(of: task.id).count == 1) }
        #expect(requests <= 42 * 2 + 3, "\(requests) requests")
    }
}
