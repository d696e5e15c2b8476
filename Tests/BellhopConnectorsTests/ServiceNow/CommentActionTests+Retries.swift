import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Retries by a person, changes of the clock, restarts and last attempts: a comment is neither doubled nor lost.
extension CommentActionTests {
    @Test func `a person's retry looks first, and does not repeat a write that succeeded`() async throws {
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(3600))
        let again = Attempt(number: 1, now: practice.clock.now, firstStarted: start, lastUncertain: start)
        let receipt = try await perform(delivery, again)
        #expect(receipt.reference == notes.first?.id)
        #expect(notes.count == 1)
    }

    @Test func `if nothing can be proved, a person's retry sends the comment once, after the server's time limit`() async throws {
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.hiddenFields = ["work_notes"]
        }
        practice.simulation.faults.add(.resetBefore, "POST", path: post, times: 2)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        #expect(await failing(delivery, attempt(2, uncertain: start))?.remedy == .hold)
        // Holding the delivery counts as uncertain too, and the person is quick.
        let held = practice.clock.now
        await practice.clock.advance(by: .seconds(20))
        let early = await failing(delivery, Attempt(number: 1, now: practice.clock.now, firstStarted: start, lastUncertain: held))
        #expect(early?.remedy == .retry(after: .seconds(100)))
        await practice.clock.advance(by: .seconds(100))
        let sent = practice.clock.now
        #expect(await failing(delivery, attempt(2, uncertain: held))?.remedy == .unknownOutcome)
        // The person's order was for one attempt.
        await practice.clock.advance(by: .seconds(130))
        #expect(await failing(delivery, attempt(3, uncertain: sent))?.remedy == .hold)
        #expect(practice.simulation.requests.count("POST", path: post) == 2)
        _ = try await perform(delivery, Attempt(number: 1, now: practice.clock.now, firstStarted: start, lastUncertain: sent))
        #expect(notes.count == 1)
    }

    @Test(arguments: [-300.0, 7200])
    func `a correction of our clock between attempts causes no second write`(_ correction: Double) async throws {
        // The server's clock is not corrected; the attempt and the connection use ours.
        let ours = TestClock(at: start - .seconds(correction))
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(
            await failure { _ = try await perform(delivery, Attempt(number: 1, now: ours.now), by: ours) }?.remedy
                == .unknownOutcome)
        await practice.clock.advance(by: .seconds(600))
        let corrected = TestClock(at: practice.clock.now)
        let receipt = try await perform(
            delivery, Attempt(number: 2, now: corrected.now, firstStarted: ours.now, lastUncertain: start), by: corrected)
        #expect(receipt.reference == notes.first?.id)
        #expect(notes.count == 1)
    }

    /// One attempt with a clock that differs from the server's.
    private func perform(_ delivery: Delivery, _ attempt: Attempt, by clock: TestClock) async throws -> Receipt {
        let settings = practice.settings(try await practice.simulation.serve())
        var environment = practice.environment()
        environment.clock = clock
        let connection = try ServiceNowConnection(name: "snow", settings: settings, in: environment).untilTestEnds()
        return try await CommentAction(connection: connection, times: times).perform(delivery, attempt: attempt)
    }

    @Test func `a lookup that began before the server's time limit does not prove the absence of the comment`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: post)
        let delivery = Delivery.comment("Thanks", on: task.id)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(119))
        let (base, clock) = (InProcessExchange(practice.simulation), practice.clock)
        let slow = GivenExchange { request async throws(TransportError) in
            let response = try await base.send(request)
            await clock.advance(by: .seconds(2))
            return response
        }
        let connection = try practice.connection(over: slow)
        let action = CommentAction(connection: connection, times: times)
        let early = await failure { _ = try await action.perform(delivery, attempt: attempt(2, uncertain: start)) }
        #expect(early?.remedy == .retry(after: .seconds(1)))
        #expect(practice.simulation.requests.count("POST", path: post) == 1)
        try await connection.shutdown()
    }

    @Test func `a last attempt without a lookup is held if an earlier one may have written`() async throws {
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/incident", times: nil)
        var delivery = Delivery.comment("Thanks", on: task.id)
        delivery.retry.attempts = 3
        #expect(await failing(delivery, attempt(2, uncertain: start))?.remedy == .retry(after: nil))
        #expect(await failing(delivery, attempt(3))?.remedy == .retry(after: nil))
        #expect(await failing(delivery, attempt(3, uncertain: start))?.remedy == .hold)
    }

    @Test(arguments: [true, false])
    func `an expired comment whose outcome is unknown is looked for, but not sent`(_ isWritten: Bool) async throws {
        practice.simulation.faults.add(isWritten ? .resetAfter : .resetBefore, "POST", path: post)
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_journal_field", times: 1)
        var delivery = Delivery.comment("Thanks", on: task.id)
        delivery.expires = start + .seconds(60)
        #expect(await failing(delivery, attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        if isWritten {
            #expect(try await perform(delivery, attempt(2, uncertain: start)).reference == notes.first?.id)
        } else {
            #expect(await failing(delivery, attempt(2, uncertain: start))?.reason == .expired)
        }
        #expect(practice.simulation.requests.count("POST", path: post) == 1)
    }

    @Test func `a comment is not sent if its note cannot be stored`() async throws {
        practice.notebook.refuseWriting()
        let failure = await failing(.comment("Thanks", on: task.id), attempt(1))
        #expect(failure?.reason == .fileSystem)
        #expect(failure?.remedy == .retry(after: nil))
        #expect(practice.simulation.requests.count("POST") == 0)
    }

    @Test func `after an interrupted attempt the comment is looked for, as after a lost answer`() async throws {
        instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
        let receipt = try await perform(.comment("Thanks", on: task.id), attempt(2, uncertain: start))
        #expect(receipt.reference == notes.first?.id)
        #expect(notes.count == 1)
    }

    @Test func `a 503 with Retry-After to a write rests the receiver, and nothing is written twice`() async throws {
        practice.simulation.faults.add(.unavailable(.seconds(60)), "POST", path: post)
        let delivery = Delivery.comment("Thanks", on: task.id)
        let refused = await failing(delivery, attempt(1))
        // A look showed that nothing was written.
        #expect(refused?.reason == .throttled && refused?.remedy == .rest(.seconds(60)))
        practice.simulation.faults.add(.unavailable(.seconds(60)), "POST", path: post)
        practice.simulation.faults.add(.unavailable(.seconds(90)), "GET", path: "/api/now/v2/table/sys_journal_field")
        let unknown = await failing(delivery, attempt(1))
        #expect(unknown?.remedy == .unknownOutcome && unknown?.requestedRest == .some(.seconds(90)))
        await practice.clock.advance(by: .seconds(130))
        _ = try await perform(delivery, attempt(2, uncertain: start))
        #expect(notes.count == 1)
    }

    @Test func `a missing task gets no comment, even if the server would accept it`() async throws {
        practice.simulation.faults.add(.blankTaskOnBadID, times: nil)
        let failure = await failing(.comment("Thanks", on: String(repeating: "0", count: 32)), attempt(1))
        #expect(failure?.reason == .goneOrHidden)
        #expect(failure?.remedy == .giveUp)
        #expect(practice.simulation.requests.count("POST") == 0)
    }
}
