import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Proving that a comment was written: with changed texts, with only the task's history, with similar texts, and with login pages
/// as answers.
@Suite(.closing) struct CommentProofTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    let post = "/api/x_snc_my_work"
    let journal = "/api/now/v2/table/sys_journal_field"

    init() { task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe") }

    var notes: [JournalEntry] { instance.journal(of: task.id, .workNotes) }
    var posts: Int { practice.simulation.requests.count("POST", path: post) }

    func perform(_ delivery: Delivery, _ attempt: Attempt, settings: JSON.Object = [:]) async throws -> Receipt {
        try await practice.perform(delivery, attempt, settings: settings)
    }

    func failing(_ delivery: Delivery, _ attempt: Attempt, settings: JSON.Object = [:]) async -> Failure? {
        await practice.failing(delivery, attempt, settings: settings)
    }

    // MARK: Histories

    static let lines = [
        "3 - Moderate (was 2 - High)", "1 - x (y)", "2026-01-05 09:00:00 - Any Name (Work notes)",
        "2020-01-05 09:00:00 - John Doe (Work notes)",
    ]

    @Test(arguments: lines, [true, false])
    func `with only the history, a text with a line like a heading is written once`(
        _ line: String, _ isLost: Bool
    ) async throws {
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.utcOffset = -480
        }
        instance.addNote("Earlier", .workNotes, on: task.id, by: "abel.tuter")
        if isLost { practice.simulation.faults.add(.resetAfter, "POST", path: post) }
        let receipt = try await perform(.comment("Changed:\n\n\(line)\n\nThat was all.", on: task.id), practice.attempt(1))
        #expect(receipt.reference?.hasPrefix("history/") == true)
        #expect(receipt.summary.contains("not confirmed") == false)
        #expect(notes.count == 2)
    }

    @Test(arguments: [-480, 0, 330])
    func `an equal text from an hour ago proves nothing, whatever the user's zone`(_ offset: Int) async throws {
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.utcOffset = offset
        }
        instance.addNote("Reminder", .workNotes, on: task.id, by: "john.doe")
        await practice.clock.advance(by: .seconds(3600))
        let began = practice.clock.now
        await practice.clock.advance(by: .seconds(600))
        // Without a note of an earlier attempt, only the time decides.
        let again = Attempt(number: 2, now: practice.clock.now, firstStarted: began, lastUncertain: began)
        _ = try await perform(.comment("Reminder", on: task.id), again)
        #expect(notes.count == 2)
    }

    @Test func `an equal text that was in the history before the attempt proves nothing`() async throws {
        instance.changeUser("john.doe") { $0.journal = .hidden }
        instance.addNote("Reminder", .workNotes, on: task.id, by: "john.doe")
        practice.simulation.faults.add(.resetBefore, "POST", path: post)
        let delivery = Delivery.comment("Reminder", on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        _ = try await perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(notes.count == 2)
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `an entry proves one delivery only`(_ reading: SimulatedUser.Reading) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        let first = try await perform(.comment("Reminder", on: task.id), practice.attempt(1))
        let began = practice.clock.now
        await practice.clock.advance(by: .seconds(130))
        let again = Attempt(
            number: 2, now: practice.clock.now, firstStarted: began, lastUncertain: began,
            othersReferences: Set([first.reference].compactMap(\.self)))
        let second = try await perform(.comment("Reminder", on: task.id, occasion: "event/2"), again)
        #expect(notes.count == 2)
        #expect(second.reference != first.reference)
    }

    @Test func `equal comments in the same second are two entries of the history, and each is written once`() async throws {
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        let connection = try await practice.open()
        let action = CommentAction(connection: connection, times: WriteTimes(lookupWaits: []))
        let one = try await action.perform(.comment("Thanks", on: task.id), attempt: practice.attempt(1))
        let two = try await action.perform(.comment("Thanks", on: task.id, occasion: "event/2"), attempt: practice.attempt(1))
        #expect(one.reference != two.reference)
        #expect(notes.count == 2)
    }

    @Test func `two deliveries that look at the same time do not claim the same entry`() async throws {
        instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        let began = practice.clock.now
        await practice.clock.advance(by: .seconds(130))
        let again = Attempt(number: 2, now: practice.clock.now, firstStarted: began, lastUncertain: began)
        let connection = try await practice.open()
        let action = CommentAction(connection: connection, times: WriteTimes(lookupWaits: []))
        let one = try await action.perform(.comment("Thanks", on: task.id), attempt: again)
        let two = try await action.perform(.comment("Thanks", on: task.id, occasion: "event/2"), attempt: again)
        #expect(one.reference != two.reference)
        #expect(notes.count == 2)
    }

    @Test func `a comment is found below many newer entries of other deliveries`() async throws {
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: journal, times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        var again = practice.attempt(2, uncertain: Practice.start)
        for number in 1...60 {
            let other = try #require(instance.addNote("Other \(number)", .workNotes, on: task.id, by: "john.doe"))
            again.othersReferences.insert(other.id)
        }
        #expect(try await perform(delivery, again).reference == notes.first?.id)
        #expect(posts == 1)
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `a comment written as another user is not written again after the connection's account was changed`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        for user in ["john.doe", "abel.tuter"] { instance.changeUser(user) { $0.journal = reading } }
        instance.addNote("Earlier", .workNotes, on: task.id)
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        // The lookup afterwards, of the journal or else of the history, fails too.
        practice.simulation.faults.add(.badGateway, "GET", path: journal, times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        let account: JSON = ["basic": ["username": "abel.tuter", "password": "x"]]
        func perform() async throws -> Receipt {
            try await self.perform(delivery, practice.attempt(2, uncertain: Practice.start), settings: ["auth": account])
        }
        if reading == .allowed {
            #expect(try await perform().reference == notes.last?.id)
        } else {
            // A history shows display names, which prove no user.
            #expect(await failure { _ = try await perform() }?.remedy == .hold)
        }
        #expect(posts == 1)
    }

    @Test func `an entry of an earlier account does not prove what the present account was told is written`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: journal, times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        instance.addNote("By hand", .workNotes, on: task.id, by: "john.doe")
        instance.changeUser("abel.tuter") { ($0.journal, $0.workNotes) = (.allowed, .ignored) }
        await practice.clock.advance(by: .seconds(130))
        // A person has decided to repeat it.
        let again = Attempt(
            number: 1, now: practice.clock.now, firstStarted: Practice.start, lastUncertain: Practice.start)
        let account: JSON = ["basic": ["username": "abel.tuter", "password": "x"]]
        let failure = await failing(delivery, again, settings: ["auth": account])
        #expect(failure?.reason == .notWritten && failure?.remedy == .unknownOutcome)
        #expect(posts == 2)
    }

    // MARK: Markers

    @Test func `with markers, a text without our marker is not ours, however similar`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: post)
        let delivery = Delivery.comment("Call back", on: task.id)
        #expect(await failing(delivery, practice.attempt(1), settings: ["marker": true])?.remedy == .unknownOutcome)
        instance.addNote("Call back", .workNotes, on: task.id, by: "john.doe")
        await practice.clock.advance(by: .seconds(130))
        let held = await failing(delivery, practice.attempt(2, uncertain: Practice.start), settings: ["marker": true])
        #expect(held?.remedy == .hold)
    }

    // MARK: Login pages, refusals and failed lookups

    @Test(arguments: [Fault.loginPage, .redirectToLogin])
    func `after a login page in reply to a write the delivery is held if nothing can be read`(_ fault: Fault) async throws {
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.hiddenFields = ["work_notes"]
        }
        practice.simulation.faults.add(FaultRule(fault, method: "POST", path: post, takesEffect: true))
        let held = await failing(.comment("Thanks", on: task.id), practice.attempt(1))
        #expect(held?.remedy == .hold)
        #expect(notes.count == 1)
        #expect(posts == 1)
    }

    @Test(arguments: [Fault.loginPage, .status(403, body: #"{"error":{"message":"Not here"},"status":"failure"}"#)])
    func `a failed look does not prove that nothing was written`(_ fault: Fault) async throws {
        practice.simulation.faults.add(FaultRule(fault, method: "POST", path: post, takesEffect: true))
        practice.simulation.faults.add(.badGateway, "GET", path: journal, times: fault == .loginPage ? 2 : 3)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        #expect(posts == 1)
        practice.simulation.faults.removeAll()
        await practice.clock.advance(by: .seconds(5))
        _ = try await perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(notes.count == 1)
        #expect(posts == 1)
    }

    // MARK: After restoring the store

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `after the store is restored, entries written since the backup are found before anything is sent`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        let backup = practice.clock.now
        await practice.clock.advance(by: .seconds(600))
        _ = try await perform(.comment("Reminder", on: task.id), practice.attempt(1))
        await practice.clock.advance(by: .seconds(600))
        let restart = practice.clock.now
        await practice.clock.advance(by: .seconds(30))
        var made = Attempt(number: 1, now: practice.clock.now, mayRepeat: backup..<restart)
        let receipt = try await perform(.comment("Reminder", on: task.id), made)
        #expect(receipt.summary.hasPrefix("found written before the store was restored"))
        #expect(notes.count == 1)
        // It proves one delivery; the next is written.
        made.othersReferences = Set([receipt.reference].compactMap(\.self))
        _ = try await perform(.comment("Reminder", on: task.id, occasion: "event/2"), made)
        #expect(notes.count == 2)
    }
}
