import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct CommentActionTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    let start = Practice.start
    let post = "/api/x_snc_my_work"
    /// Does not wait between lookups.
    let times = WriteTimes(lookupWaits: [])

    init() { task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe") }

    func attempt(_ number: Int, uncertain: Timestamp? = nil) -> Attempt { practice.attempt(number, uncertain: uncertain) }

    var notes: [JournalEntry] { instance.journal(of: task.id, .workNotes) }

    func perform(_ delivery: Delivery, _ attempt: Attempt) async throws -> Receipt {
        try await practice.perform(delivery, attempt)
    }

    func failing(_ delivery: Delivery, _ attempt: Attempt) async -> Failure? { await practice.failing(delivery, attempt) }

    @Test func `a note is written once and proved by its journal entry`() async throws {
        let receipt = try await perform(.comment("Thanks,\r\nI look.\n", on: task.id), attempt(1))
        #expect(notes.map(\.text) == ["Thanks,\r\nI look.\n"])
        #expect(receipt == Receipt("201, work note \(notes[0].id)", reference: notes[0].id))
    }

    @Test func `a comment for the customer is written to the comments`() async throws {
        let receipt = try await perform(.comment("Soon.", on: task.id, visibility: "customer"), attempt(1))
        let comments = instance.journal(of: task.id, .comments)
        #expect(comments.map(\.text) == ["Soon."])
        #expect(receipt.reference == comments.first?.id)
        #expect(notes.isEmpty)
        #expect(practice.simulation.requests.count("PATCH", path: "/api/now/v2/table/incident/\(task.id)") == 1)
    }

    @Test(arguments: [true, false])
    func `without access to the Task Tracker API a note is written to the record itself`(_ isInstalled: Bool) async throws {
        instance.settings.hasTracker = isInstalled
        instance.changeUser("john.doe") { $0.mayUseTracker = false }
        let receipt = try await perform(.comment("Thanks", on: task.id), attempt(1))
        #expect(notes.map(\.text) == ["Thanks"])
        #expect(receipt == Receipt("200, work note \(notes[0].id)", reference: notes[0].id))
        #expect(practice.simulation.requests.count("PATCH", path: "/api/now/v2/table/incident/\(task.id)") == 1)
    }

    @Test func `a comment written to the record itself is not written twice`() async throws {
        instance.settings.hasTracker = false
        practice.simulation.faults.add(.resetAfter, "PATCH")
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(5))
        _ = try await perform(delivery, attempt(2, uncertain: start))
        #expect(notes.count == 1)
        #expect(practice.simulation.requests.count("PATCH") == 1)
    }

    @Test(arguments: [Fault.resetAfter, .cutBody, .truncatedJSON, .accepted, .badGateway, .status(201, body: "")])
    func `if the reply is lost after the write, a lookup proves the comment`(_ fault: Fault) async throws {
        practice.simulation.faults.add(FaultRule(fault, method: "POST", path: post, takesEffect: true))
        let receipt = try await perform(.comment("Thanks", on: task.id), attempt(1))
        #expect(notes.count == 1)
        #expect(receipt.reference == notes.first?.id)
    }

    @Test func `if the lookup is lost too, the next attempt finds the comment and sends nothing`() async throws {
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        let lost = await failing(delivery, attempt(1))
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(5))
        let receipt = try await perform(delivery, attempt(2, uncertain: start))
        #expect(receipt == Receipt("found written by an earlier attempt, work note \(notes[0].id)", reference: notes[0].id))
        #expect(notes.count == 1)
        #expect(practice.simulation.requests.count("POST") == 1)
    }

    @Test(arguments: [(5000, 3600, 140), (60, 60, 140), (20, 3600, 1880)])
    func `after a lost answer the next request comes after minutes, unless the rate itself is slow`(
        _ count: Int64, _ period: Int64, _ wait: Int
    ) async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: post)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(40))
        let second = attempt(2, uncertain: start)
        let rate: JSON = ["count": .int(count), "microseconds": .int(period * 1_000_000)]
        let action = CommentAction(connection: try await practice.open(settings: ["rate": rate]))
        let early = await failure { _ = try await action.perform(delivery, attempt: second) }
        #expect(early?.remedy == .retry(after: .seconds(wait)))
    }

    @Test(arguments: [Fault.resetBefore, .accepted, .badGateway, .internalError, .loginPage])
    func `a request that was lost before the write is sent again only past the server's time limit`(_ fault: Fault) async throws {
        practice.simulation.faults.add(fault, "POST", path: post, times: fault == .loginPage ? 2 : 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        let lost = await failing(delivery, attempt(1))
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(40))
        let early = await failing(delivery, attempt(2, uncertain: start))
        #expect(early?.remedy == .retry(after: .seconds(80)))
        #expect(practice.simulation.requests.count("POST", path: post) == (fault == .loginPage ? 2 : 1))
        await practice.clock.advance(by: .seconds(80))
        let receipt = try await perform(delivery, attempt(3, uncertain: start))
        #expect(notes.count == 1)
        #expect(receipt.reference == notes.first?.id)
    }

    @Test func `after a refused connection, the comment is sent as soon as a connection succeeds`() async throws {
        let delivery = Delivery.comment("Thanks", on: task.id)
        let action = CommentAction(connection: try await practice.open(), times: times)
        practice.simulation.faults.add(.tooManyRequests(.seconds(3)), "POST", path: post)
        #expect(await failure { _ = try await action.perform(delivery, attempt: attempt(1)) }?.remedy == .rest(.seconds(3)))
        _ = try await action.perform(delivery, attempt: attempt(2))
        #expect(notes.count == 1)
    }

    @Test func `an equal text that is older, another user's or claimed by another delivery is not this comment`() async throws {
        instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        await practice.clock.advance(by: .seconds(3600))
        let began = practice.clock.now
        instance.addNote("Thanks", .workNotes, on: task.id, by: "abel.tuter")
        instance.addNote("Thanks", .comments, on: task.id, by: "john.doe")
        let other = try #require(instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe"))
        let again = Attempt(
            number: 2, now: began + .seconds(600), firstStarted: began, lastUncertain: began, othersReferences: [other.id])
        await practice.clock.advance(by: .seconds(600))
        let receipt = try await perform(.comment("Thanks", on: task.id), again)
        #expect(notes.filter { $0.author == "john.doe" }.count == 3)
        #expect(receipt.reference == notes.last?.id)
    }

    @Test func `a 201 without a write is retried once after the time limit, then given up with the reason`() async throws {
        instance.changeUser("john.doe") { $0.workNotes = .ignored }
        let delivery = Delivery.comment("Thanks", on: task.id)
        let first = await failing(delivery, attempt(1))
        #expect(first?.reason == .notWritten)
        #expect(first?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        let second = await failing(delivery, attempt(2, uncertain: start))
        #expect(second?.remedy == .giveUp)
        #expect(second?.message.contains("do not let john.doe write work_notes") == true)
        #expect(practice.simulation.requests.count("POST") == 2)
    }

    @Test func `a 201 whose comment appears only later is not sent again`() async throws {
        practice.simulation.faults.add(.emptyList, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        let action = try await CommentAction(connection: practice.open(), times: .init(lookupWaits: [.seconds(1)]))
        async let receipt = action.perform(.comment("Thanks", on: task.id), attempt: attempt(1))
        try await practice.clock.waitForSleepers(1)
        await practice.clock.advance(by: .seconds(1))
        #expect(try await receipt.reference == notes.first?.id)
        #expect(notes.count == 1)
    }

    @Test(arguments: WriteFault.refusals)
    func `a comment that was written although the answer was a refusal is found`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(
            FaultRule(writeFault.fault, method: "POST", path: post, takesEffect: writeFault.takesEffect))
        #expect(try await perform(.comment("Thanks", on: task.id), attempt(1)).summary.hasPrefix("found written ("))
        #expect(notes.count == 1)
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `if the journal cannot be read, the task's history proves the comment`(_ reading: SimulatedUser.Reading) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        let receipt = try await perform(.comment("Two\n\nlines", on: task.id), attempt(1))
        #expect(receipt.summary == "found written (cut), work note")
        #expect(receipt.reference?.hasPrefix("history/") == true)
        #expect(notes.count == 1)
    }

    @Test func `an equal text of another user in the history is not this comment, and proves nothing`() async throws {
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        practice.simulation.faults.add(.resetBefore, "POST", path: post, times: 2)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        instance.addNote("Thanks", .workNotes, on: task.id, by: "abel.tuter")
        await practice.clock.advance(by: .seconds(130))
        #expect(await failing(delivery, attempt(2, uncertain: start))?.remedy == .hold)
        #expect(notes.map(\.author) == ["abel.tuter"])
        // Our own beside it is recognized.
        instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        let receipt = try await perform(delivery, attempt(2, uncertain: start))
        #expect(receipt.summary == "found written by an earlier attempt, work note")
    }

    @Test func `an equal text from days ago in the history is not this comment`() async throws {
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        await practice.clock.advance(by: .days(2))
        let began = practice.clock.now
        await practice.clock.advance(by: .seconds(600))
        let again = Attempt(number: 2, now: practice.clock.now, firstStarted: began, lastUncertain: began)
        _ = try await perform(.comment("Thanks", on: task.id), again)
        #expect(notes.count == 2)
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `if nothing can be proved, the delivery is held`(_ reading: SimulatedUser.Reading) async throws {
        instance.changeUser("john.doe") {
            $0.journal = reading
            $0.hiddenFields = ["work_notes"]
        }
        instance.addNote("Earlier", .workNotes, on: task.id, by: "john.doe")
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        let held = await failing(delivery, attempt(2, uncertain: start))
        #expect(held?.remedy == .hold)
        #expect(practice.simulation.requests.count("POST") == 1)
    }

    @Test func `a 201 is trusted if nothing can confirm or refute it`() async throws {
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.hiddenFields = ["work_notes"]
        }
        let receipt = try await perform(.comment("Thanks", on: task.id), attempt(1))
        #expect(receipt.summary.contains("cannot read the journal"))
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `an account without access to tasks comments only on those that the tracker lists`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.tasks = reading }
        _ = try await perform(.comment("Thanks", on: task.id), attempt(1))
        #expect(notes.count == 1)
        let other = instance.addTask(title: "Not mine", assignedTo: "abel.tuter")
        #expect(await failing(.comment("Thanks", on: other.id), attempt(1))?.reason == .goneOrHidden)
        #expect(instance.journal(of: other.id).isEmpty)
    }

    @Test(arguments: [
        ("", "internal", "comment is empty"), (" \n", "internal", "comment is empty"),
        ("x", "public", "internal or customer"),
    ])
    func `an invalid comment is given up`(_ text: String, _ visibility: String, _ words: String) async throws {
        let failure = await failing(.comment(text, on: task.id, visibility: visibility), attempt(1))
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains(words) == true)
        #expect(practice.simulation.requests.total == 0)
    }

    @Test func `a task is identified only by a sys_id`() async throws {
        let failure = await failing(.comment("x", on: task.number), attempt(1))
        #expect(failure?.reason == .badArguments)
    }

    @Test func `a refusal by access rules is reported as such`() async throws {
        instance.changeUser("john.doe") { $0.workNotes = .refused }
        let failure = await failing(.comment("x", on: task.id), attempt(1))
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("May be ACL restricted") == true)
    }

    @Test func `a comment whose session has ended is sent after a new login`() async throws {
        practice.simulation.faults.add(.sessionLost, "POST", path: post)
        _ = try await perform(.comment("Thanks", on: task.id), attempt(1))
        #expect(notes.count == 1)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test func `times are compared by the server's own clock, however wrong it is`() async throws {
        let behind = Timestamp(seconds: 1_767_603_600 - 7200)
        let clock = practice.clock
        let simulation = Simulation { clock.now.microseconds - 7_200_000_000 }
        simulation.instance.addUser("john.doe", password: "correct horse")
        let task = simulation.instance.addTask(title: "Printer", assignedTo: "john.doe")
        #expect(simulation.instance.time == behind.microseconds)
        let connection = try practice.connection(await simulation.serve())
        let receipt = try await CommentAction(connection: connection, times: times).perform(
            .comment("Thanks", on: task.id), attempt: attempt(1))
        #expect(receipt.reference == simulation.instance.journal(of: task.id).first?.id)
    }

    @Test func `text that the platform would read as HTML is split, and recognized afterwards`() async throws {
        // With the accent, the `]` is one character for Swift.
        let delivery = Delivery.comment("[code]<b>x</b>[/CODE] [code]\u{301} [codes] [", on: task.id)
        let receipt = try await perform(delivery, attempt(1))
        #expect(notes.map(\.text) == ["[ code]<b>x</b>[ /CODE] [ code]\u{301} [codes] ["])
        #expect(receipt.reference == notes.first?.id)
    }
}
