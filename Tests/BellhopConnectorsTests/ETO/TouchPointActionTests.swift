import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct TouchPointActionTests {
    let practice = ETOPractice()

    private func delivery(_ more: JSON.Object = [:], occasion: String = "event/1") -> Delivery {
        var arguments: JSON.Object = [
            "touchpoint": "14", "subject": 501,
            "elements": ["1006": "Seen by Bellhop", "12": ["date": "2026-01-05"], "30": ["choice": [1113, "1114"]], "20": 7],
        ]
        for (name, value) in more { arguments[name] = value.isNull ? nil : value }
        return Delivery(
            id: .init(occasion: Occasion.ID(occasion), rule: "visit", step: StepPath(index: 0), receiver: "eto"), revision: "1",
            action: "touchpoint", effect: .makes, arguments: .values(arguments), task: nil, lane: "visit",
            createdAt: practice.clock.now)
    }

    private func attempt(_ number: Int = 1, uncertain: Timestamp? = nil, othersReferences: Set<String> = []) -> Attempt {
        Attempt(
            number: number, now: practice.clock.now, firstStarted: uncertain, lastUncertain: uncertain,
            othersReferences: othersReferences)
    }

    private func add(_ connection: ETOConnection, _ delivery: Delivery, _ attempt: Attempt) async throws -> Receipt {
        try await TouchPointAction(connection: connection).perform(delivery, attempt: attempt)
    }

    private func failing(_ connection: ETOConnection, _ delivery: Delivery, _ attempt: Attempt) async -> Failure? {
        await failure { _ = try await add(connection, delivery, attempt) }
    }

    @Test func `a response is added with its answers in the forms of their types`() async throws {
        let receipt = try await add(
            practice.open(["program": "2"]),
            delivery([
                "created": "2016-10-07T00:00:00Z",
                "files": ["138": ["name": "note.txt", "text": "hé"], "139": ["name": "b", "base64": "AP8="]],
            ]), attempt())
        let added = try #require(practice.eto.responses.first)
        #expect(receipt.summary == "200, response \(added.id)")
        // As named by a source of the connection.
        #expect(receipt.reference?.hasPrefix("http://127.0.0.1:") == true && receipt.reference?.hasSuffix("/\(added.id)") == true)
        let request = try #require(practice.simulation.requests.matching("POST", path: "/API/TouchPoint.svc").first)
        let body = try JSON.parse(request.body)
        #expect(
            body == [
                "TouchPointResponse": [
                    "TouchPointID": 14, "SubjectID": 501, "ResponseCreatedDate": "/Date(1475798400000)/", "ProgramID": 2,
                    "ResponseElements": [
                        ["ElementID": 1006, "ElementType": 5, "Value": "Seen by Bellhop"],
                        ["ElementID": 12, "ElementType": 9, "Value": "01/05/2026"],
                        [
                            "ElementID": 30, "ElementType": 4,
                            "ResponseElementChoices": [["TouchPointElementChoiceID": 1113], ["TouchPointElementChoiceID": 1114]],
                        ], ["ElementID": 20, "ElementType": 5, "Value": "7"],
                        [
                            "ElementID": 138, "ElementType": 29, "Value": .null,
                            "ResponseFileAttachment": ["FileName": "note.txt", "FileContent": [104, 195, 169]],
                        ],
                        [
                            "ElementID": 139, "ElementType": 29, "Value": .null,
                            "ResponseFileAttachment": ["FileName": "b", "FileContent": [0, 255]],
                        ],
                    ],
                ]
            ])
    }

    @Test(
        arguments: [Fault.resetAfter, .cutBody, .badGateway, .status(500, body: "{}"), .status(200, body: "{}")], [true, false])
    func `after a lost answer the response is looked for at once, and not added again if it exists`(
        _ fault: Fault, _ listsElements: Bool
    ) async throws {
        practice.eto.behavior.listsElements = listsElements
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: [(1006, #"{"ElementID": 1006, "Value": "Other"}"#)])
        practice.simulation.faults.add(FaultRule(fault, method: "POST", path: "/API/TouchPoint.svc", takesEffect: true))
        let receipt = try await add(practice.open(), delivery(), attempt())
        #expect(practice.eto.counts.added == 1)
        #expect(receipt.summary.contains("found written"))
        #expect(receipt.reference?.hasSuffix("/\(practice.eto.responses[1].id)") == true)
    }

    @Test(arguments: ["Nope", "99", "Old"])
    func `an unknown program fails its own delivery without delaying others`(_ program: String) async throws {
        let connection = try await practice.open(["program": "Housing"])
        let refusal = await failing(connection, delivery(["program": .string(program)]), attempt())
        #expect(refusal?.remedy == .giveUp && refusal?.reason == .badArguments)
        #expect(
            refusal?.message.contains("`program` called `\(program)`, which the step names") == true,
            "\(refusal?.message ?? "")")
        #expect(refusal?.message.contains("Intake, Housing") == true)
        // A delivery that may have written before is not dead.
        let doubtful = await failing(
            connection, delivery(["program": .string(program)]), attempt(2, uncertain: practice.clock.now - .seconds(600)))
        #expect(doubtful?.remedy == .hold)
        for more in [[:], ["program": "Intake"]] as [JSON.Object] { _ = try await add(connection, delivery(more), attempt()) }
        #expect(practice.eto.counts.added == 2 && practice.eto.counts.logins == 1)
        #expect(practice.events.summary == ["login_event ok"])
    }

    @Test func `a response is added in its program, though another login of the account has changed the current one`()
        async throws
    {
        let connection = try await practice.open(["program": "Housing"])
        _ = try await add(connection, delivery(), attempt())
        practice.eto.changeProgram(of: "ada@example.com", to: 1)
        _ = try await add(connection, delivery(["elements": ["1006": "Seen again"]], occasion: "event/2"), attempt())
        #expect(practice.eto.responses.map(\.program) == [2, 2])
    }

    @Test func `a missing program in the connection's settings pauses the connection`() async throws {
        let refusal = try await failing(practice.open(["program": "Nope"]), delivery(), attempt())
        #expect(refusal?.remedy == .pauseConnection)
    }

    @Test func `a request that never arrived is sent again, once no earlier request can still be running`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: "/API/TouchPoint.svc")
        let connection = try await practice.open()
        let one = delivery()
        let start = practice.clock.now
        let lost = await failing(connection, one, attempt())
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(60))
        let early = await failing(connection, one, attempt(2, uncertain: start))
        #expect(early?.remedy == .retry(after: .seconds(90)))
        #expect(practice.eto.counts.added == 0)
        await practice.clock.advance(by: .seconds(90))
        _ = try await add(connection, one, attempt(3, uncertain: start))
        #expect(practice.eto.counts.added == 1)
    }

    @Test func `a response that arrived late is found by a later attempt, also after a restart`() async throws {
        let one = delivery()
        let start = practice.clock.now
        practice.simulation.faults.add(FaultRule(.resetAfter, method: "POST", path: "/API/TouchPoint.svc"))
        practice.simulation.faults.add(.status(403, body: ""), "GET", path: "/API/TouchPoint.svc", skip: 1, times: 1)
        let connection = try await practice.open()
        let lost = await failing(connection, one, attempt())
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(5))
        let receipt = try await add(practice.open(), one, attempt(2, uncertain: start))
        #expect(receipt.summary.contains("found written by an earlier attempt"))
        #expect(practice.eto.counts.added == 1)
    }

    @Test func `after a redirect in answer to a write, a lookup finds the write`() async throws {
        let connection = try await practice.open()
        practice.simulation.faults.add(
            FaultRule(
                .redirect(to: "https://elsewhere.example/"), method: "POST", path: "/API/TouchPoint.svc", takesEffect: true))
        let receipt = try await add(connection, delivery(), attempt())
        #expect(receipt.summary.hasPrefix("found written (refused)"))
        #expect(practice.eto.responses.count == 1)
    }

    @Test func `after the store is restored, a response added since the backup is found before another is added`() async throws {
        let connection = try await practice.open()
        let backup = practice.clock.now
        await practice.clock.advance(by: .seconds(600))
        let first = try await add(connection, delivery(), attempt())
        await practice.clock.advance(by: .seconds(600))
        let restart = practice.clock.now
        await practice.clock.advance(by: .seconds(30))
        var made = attempt()
        made.mayRepeat = backup..<restart
        let receipt = try await add(connection, delivery(), made)
        #expect(receipt.reference == first.reference)
        #expect(practice.eto.responses.count == 1)
        // It proves one delivery; the next is added.
        made.othersReferences = Set([receipt.reference].compactMap(\.self))
        _ = try await add(connection, delivery(occasion: "event/2"), made)
        #expect(practice.eto.responses.count == 2)
    }

    @Test func `a new response with changed values holds the delivery, and a person's retry sends it`() async throws {
        practice.eto.behavior.rewritesValues = true
        practice.simulation.faults.add(FaultRule(.resetAfter, method: "POST", path: "/API/TouchPoint.svc"))
        let connection = try await practice.open()
        let one = delivery()
        let start = practice.clock.now
        let lost = await failing(connection, one, attempt())
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(200))
        let held = await failing(connection, one, attempt(2, uncertain: start))
        #expect(held?.remedy == .hold)
        #expect(held?.message.contains(String(practice.eto.responses[0].id)) == true)
        #expect(practice.eto.counts.added == 1)
        _ = try await add(connection, one, attempt(1, uncertain: start))
        #expect(practice.eto.counts.added == 2)
    }

    @Test func `a response claimed by another delivery is not ours`() async throws {
        practice.simulation.faults.add(.resetBefore, "POST", path: "/API/TouchPoint.svc")
        let connection = try await practice.open()
        let start = practice.clock.now
        let mine = delivery()
        let lost = await failing(connection, mine, attempt())
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(5))
        let other = try await add(connection, delivery(occasion: "event/2"), attempt())
        await practice.clock.advance(by: .seconds(200))
        let reference = try #require(other.reference)
        _ = try await add(connection, mine, attempt(2, uncertain: start, othersReferences: [reference]))
        #expect(practice.eto.counts.added == 2)
    }

    @Test func `of two equal deliveries with unknown outcomes, a response proves one only`() async throws {
        let path = "/API/TouchPoint.svc"
        let connection = try await practice.open()
        let start = practice.clock.now
        let deliveries = [delivery(), delivery(occasion: "event/2")]
        practice.simulation.faults.add(.resetBefore, "POST", path: path)
        #expect(await failing(connection, deliveries[0], attempt())?.remedy == .unknownOutcome)
        practice.simulation.faults.add(.resetAfter, "POST", path: path)
        practice.simulation.faults.add(.status(403, body: ""), "GET", path: path, skip: 1, times: 1)
        #expect(await failing(connection, deliveries[1], attempt())?.remedy == .unknownOutcome)
        #expect(practice.eto.counts.added == 1)
        await practice.clock.advance(by: .seconds(200))
        // Both were claimed together, so neither attempt knows the other's proof.
        var references: Set<String?> = []
        for delivery in deliveries {
            references.insert(try await add(connection, delivery, attempt(2, uncertain: start)).reference)
        }
        #expect(references.count == 2)
        #expect(practice.eto.counts.added == 2)
    }

    @Test func `while lookups fail, a request with an unknown outcome is held and not repeated`() async throws {
        practice.simulation.faults.add(.status(403, body: ""), "GET", path: "/API/TouchPoint.svc", times: nil)
        practice.simulation.faults.add(.resetBefore, "POST", path: "/API/TouchPoint.svc")
        let connection = try await practice.open()
        let one = delivery()
        let start = practice.clock.now
        let lost = await failing(connection, one, attempt())
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(200))
        let held = await failing(connection, one, attempt(2, uncertain: start))
        #expect(held?.remedy == .hold)
        #expect(practice.eto.counts.added == 0)
    }

    @Test func `an error message in an answer is a refusal, quoted without secrets`() async throws {
        practice.simulation.faults.add(
            .status(400, body: #"{"Detail": "Element 12 is not valid, token \#(ETOPractice.enterprise)"}"#), "POST",
            path: "/API/TouchPoint.svc")
        let failure = await failure { _ = try await add(practice.open(), delivery(), attempt()) }
        #expect(failure?.remedy == .giveUp)
        #expect(failure?.message.contains("Element 12 is not valid") == true)
        #expect(failure?.message.contains(ETOPractice.enterprise) == false)
    }

    @Test func `an ended session is renewed before anything is sent`() async throws {
        let connection = try await practice.open()
        _ = try await add(connection, delivery(), attempt())
        practice.eto.logInToWebPages("ada@example.com")
        _ = try await add(connection, delivery(occasion: "event/2"), attempt())
        #expect(practice.eto.counts.added == 2)
        #expect(practice.events.summary == ["login_event ok", "session_expired", "login_event ok"])
    }

    @Test(
        arguments: [
            ["touchpoint": ""], ["subject": "0"], ["elements": .null], ["elements": ["x": "y"]], ["elements": ["1": ["a"]]],
            ["elements": ["1": ["value": "a", "date": "b"]]], ["elements": ["1": ["date": "soon"]]],
            ["elements": ["1": ["choice": []]]],
            ["elements": ["1": ["value": 1, "colour": 2]]], ["created": "soon"], ["files": ["1": ["name": "a"]]],
            ["files": ["1": ["name": "a", "base64": "!"]]], ["files": ["1": ["text": "a"]]],
            ["files": ["1006": ["name": "a", "text": "a"]]],
            ["files": ["1": ["name": "a", "text": .string(String(repeating: "a", count: 5 << 20 + 1))]]],
        ] as [JSON.Object])
    func `an invalid response is given up without a request`(_ more: JSON.Object) async throws {
        let failure = await failure { _ = try await add(practice.open(), delivery(more), attempt()) }
        #expect(failure?.reason == .badArguments)
        #expect(failure?.remedy == .giveUp)
        #expect(practice.simulation.requests.count() == 0)
    }
}
