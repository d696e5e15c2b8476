import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct TouchPointsSourceTests {
    let practice = ETOPractice()
    private static let elements: [(id: Int, json: String)] = [
        (1006, #"{"ElementID": 1006, "ElementType": 5, "Value": "Called back"}"#),
        (12, #"{"ElementID": 12, "ElementType": 9, "Value": "01/05/2026"}"#),
        (20, #"{"ElementID": 20, "ElementType": 6, "Value": "7"}"#),
        (30, #"{"ElementID": 30, "ElementType": 4, "ResponseElementChoices": [{"TouchPointElementChoiceID": 1113}]}"#),
    ]

    private func snapshots(_ source: TouchPointsSource) async throws -> Snapshots {
        let listing = try await source.list(from: LastPoll()).listing
        return try await source.details(of: listing.entries.map(\.key), in: listing).snapshots
    }

    @Test(arguments: [true, false])
    func `responses become tasks and their answers fields, whether listed or read one by one`(_ listsElements: Bool) async throws
    {
        practice.eto.behavior.listsElements = listsElements
        let response = practice.eto.addResponse(touchPoint: 14, subject: 501, program: 2, elements: Self.elements)
        practice.eto.addResponse(touchPoint: 15, subject: 501, elements: Self.elements)
        practice.eto.addResponse(touchPoint: 14, subject: 502, elements: Self.elements)
        let source = try practice.source(
            await practice.open(),
            [
                "title": "1006", "url": "https://eto.example.com/s/{SubjectID}/r/{id}",
                "fields": [
                    "notes": 1006, "visit": ["element": 12, "type": "timestamp"], "score": ["element": 20, "type": "int"],
                    "choice": 30, "missing": 99,
                ],
            ])
        let snapshots = try await snapshots(source)
        #expect(snapshots.keys.map(\.text) == [String(response.id)])
        let task = try #require(snapshots.values.first)
        #expect(task.number == String(response.id))
        #expect(task.title == "Called back")
        #expect(task.type == "Visit")
        #expect(task.className == "touchpoint")
        #expect(task.url == "https://eto.example.com/s/501/r/\(response.id)")
        #expect(task.fields["created"] == .string(practice.clock.now.rfc3339))
        #expect(task.fields["subject"] == 501)
        #expect(task.fields["program"] == 2)
        #expect(task.fields["notes"] == "Called back")
        #expect(task.fields["visit"] == "2026-01-05T00:00:00.000000Z")
        #expect(task.fields["score"] == 7)
        #expect(task.fields["choice"] == "1113")
        #expect(task.fields["missing"] == "")
        #expect(practice.simulation.requests.count(path: "/API/TouchPoint.svc/GetTouchPointResponse") == (listsElements ? 0 : 1))
    }

    @Test(arguments: [true, false])
    func `a TouchPoint without responses is an empty list, with or without an array`(_ sendsEmptyBody: Bool) async throws {
        practice.eto.behavior.sendsEmptyBody = sendsEmptyBody
        let entries = try await practice.source(practice.open()).list(from: LastPoll()).listing.entries
        #expect(entries.isEmpty)
    }

    @Test func `a changed answer changes the fingerprint, and a deleted response is reported as gone`() async throws {
        let one = practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        let two = practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        let connection = try await practice.open()
        let source = try practice.source(connection)
        let before = try await source.list(from: LastPoll())
        practice.eto.changeResponse(one.id) {
            $0.elements[0].json = #"{"ElementID": 1006, "ElementType": 5, "Value": "New"}"#
        }
        practice.eto.deleteResponse(two.id)
        let after = try await source.list(from: LastPoll())
        #expect(before.fingerprint != after.fingerprint)
        #expect(before.listing.entries[0].fingerprint != after.listing.entries[0].fingerprint)
        let details = try await source.details(of: [TaskKey(String(one.id)), TaskKey(String(two.id))], in: after.listing)
        #expect(details.snapshots[TaskKey(String(one.id))]?.fields["notes"] == "New")
        #expect(details.departures == [TaskKey(String(two.id)): .gone])
    }

    @Test(arguments: [400, 500])
    func `unreadable responses cause few logins, and the readable ones are returned`(_ status: Int)
        async throws
    {
        practice.eto.behavior.listsElements = false
        for _ in 1...3 { practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements) }
        let path = "/API/TouchPoint.svc/GetTouchPointResponse"
        func fail(times: Int?) {
            practice.simulation.faults.add(.status(status, body: #"{"Detail": "oops"}"#), "GET", path: path, times: times)
        }
        let connection = try await practice.open()
        let source = try practice.source(connection)
        let listing = try await source.list(from: LastPoll()).listing
        fail(times: 2)  // with a second attempt after a new login
        let details = try await source.details(of: listing.entries.map(\.key), in: listing)
        #expect(details.snapshots.count == 2)
        #expect(details.notice?.hasPrefix("Left out because unreadable: 1 response") == true, "\(details.notice ?? "none")")
        fail(times: nil)
        let gone = (9001...9006).map { TaskKey(String($0)) }
        let departures = try await source.details(of: gone, in: listing).departures
        #expect(departures == Dictionary(uniqueKeysWithValues: gone.map { ($0, RemovalReason.unknown) }))
        let failure = await failure { _ = try await source.details(of: listing.entries.map(\.key), in: listing) }
        #expect(failure != nil)
        #expect(practice.eto.counts.logins <= 3)
    }

    @Test func `several subjects are read as one list, with one request each`() async throws {
        for subject in [501, 502, 503] { practice.eto.addResponse(touchPoint: 14, subject: subject, elements: Self.elements) }
        let connection = try await practice.open()
        let two = try await practice.source(connection, ["subject": ["501", "503"]]).list(from: LastPoll()).listing
        #expect(two.entries.count == 2)
        let all = try await practice.source(connection, ["subject": "all"]).list(from: LastPoll()).listing
        #expect(all.entries.count == 3)
        #expect(
            practice.simulation.requests.matching(path: "/API/TouchPoint.svc").map(\.query) == [
                "SubjectID=501&TouchPointID=14", "SubjectID=503&TouchPointID=14", "TouchPointID=14",
            ])
    }

    @Test func `the responses of a subject whose list is empty stay while they can be read`() async throws {
        let one = practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        practice.eto.addResponse(touchPoint: 14, subject: 502, elements: Self.elements)
        let gone = practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        let connection = try await practice.open()
        let source = try practice.source(connection, ["subject": ["501", "502"]])
        practice.eto.deleteResponse(gone.id)
        // The first request asks for the responses of subject 501.
        practice.simulation.faults.add(.status(200, body: "[]"), path: "/API/TouchPoint.svc/ListTouchPointResponses")
        let listing = try await source.list(from: LastPoll()).listing
        #expect(listing.entries.count == 1)
        let details = try await source.details(of: [one, gone].map { TaskKey(String($0.id)) }, in: listing)
        #expect(details.remaining == [TaskKey(String(one.id))])
        #expect(details.departures == [TaskKey(String(gone.id)): .gone])
    }

    @Test func `another program or site starts a new baseline, and the same one does not`() async throws {
        func memory(_ source: JSON.Object, _ connection: JSON.Object = [:]) async throws -> String {
            try await practice.source(practice.open(connection), source).scope.query
        }
        let first = try await memory([:])
        #expect(try await memory([:]) == first)
        #expect(try await memory([:], ["site": "78"]) != first)
        let housing = try await memory(["program": "2"])
        #expect(housing != first)
        #expect(try await memory([:], ["program": "2"]) == housing)
    }

    @Test func `a field that reads another element is redefined, not changed`() async throws {
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        let connection = try await practice.open()
        let before = try practice.source(connection)
        let other = try practice.source(connection, ["fields": ["notes": 30, "score": ["element": 20, "type": "int"]]])
        #expect(other.redefined(since: before) == ["notes"])
        let fingerprint = try await before.list(from: LastPoll()).fingerprint
        #expect(try await other.list(from: LastPoll()).fingerprint != fingerprint)
    }

    @Test func `an answer that is only the entered value is read`() async throws {
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: [(1006, #""second visit""#), (20, "7")])
        let source = try await practice.source(practice.open(), ["title": "1006"])
        let listing = try await source.list(from: LastPoll()).listing
        let snapshot = try await source.details(of: listing.entries.map(\.key), in: listing).snapshots.values.first
        #expect(snapshot?.title == "second visit")
        #expect(snapshot?.fields["notes"] == "second visit" && snapshot?.fields["score"] == 7)
    }

    @Test func `a source with a missing program fails without affecting others`() async throws {
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        let connection = try await practice.open()
        let wrong = try practice.source(connection, ["program": "Nope"])
        let found = await failure { _ = try await wrong.list(from: LastPoll()) }
        #expect(found?.remedy == .giveUp && found?.message.contains("which the source names") == true)
        #expect(try await practice.source(connection).list(from: LastPoll()).listing.entries.count == 1)
    }

    @Test func `an incomplete list is refused`() async throws {
        practice.eto.addResponse(touchPoint: 14, subject: 501, elements: Self.elements)
        practice.simulation.faults.add(.truncatedJSON, path: "/API/TouchPoint.svc")
        let failure = await failure { _ = try await practice.source(practice.open()).list(from: LastPoll()) }
        #expect(failure?.reason == .badAnswer)
    }

    @Test(
        arguments: [
            (["touchpoint": "visit"], "touchpoint"), (["subject": []], "subject"), (["subject": ["x"]], "subject"),
            (["subject": ["all", "1"]], "subject"), (["fields": ["subject": 5]], "fields.subject"), (["url": "/x"], "url"),
        ] as [(JSON.Object, String)])
    func `an invalid setting is reported by name`(_ more: JSON.Object, _ setting: String) async throws {
        let connection = try await practice.open()
        let error = #expect(throws: ConnectorError.self) { _ = try practice.source(connection, more) }
        #expect(error?.setting == setting)
    }
}
