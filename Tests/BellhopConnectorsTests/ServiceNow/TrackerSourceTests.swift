import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct TrackerSourceTests {
    let practice = Practice()
    var instance: SimulatedInstance { practice.instance }

    private func source(_ settings: JSON.Object = [:]) async throws -> TrackerSource {
        try TrackerSource(name: "my-work", settings: Settings(settings), connection: await practice.open())
    }

    /// Lists, and reads the details of everything listed and of these keys.
    private func poll(_ settings: JSON.Object = [:], gone: [TaskKey] = []) async throws -> (Listing, Details) {
        let source = try await source(settings)
        let listing = try await source.list(from: LastPoll()).listing
        return (listing, try await source.details(of: listing.entries.map(\.key) + gone, in: listing))
    }

    @Test func `a task is read with its type, class, address and typed fields`() async throws {
        let task = instance.addTask(
            "sc_task", title: "A laptop", priority: 2, assignedTo: "john.doe", fields: ["due_date": "2026-01-06 17:00:00"])
        let (_, details) = try await poll()
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(snapshot.number == task.number)
        #expect(snapshot.title == "A laptop")
        #expect(snapshot.type == "Catalog Task")
        #expect(snapshot.className == "sc_task")
        #expect(snapshot.url.hasSuffix("/nav_to.do?uri=task.do%3Fsys_id%3D\(task.id)"))
        #expect(snapshot.fields.keys == TaskFields.standard)
        #expect(snapshot.fields["priority"] == 2)
        #expect(snapshot.fields["active"] == true)
        #expect(snapshot.fields["due_date"] == "2026-01-06T17:00:00.000000Z")
        #expect(snapshot.fields["assigned_to"] == .string(instance.user("john.doe")?.id ?? ""))
        #expect(snapshot.fields["assignment_group"] == "")
        #expect(snapshot.labels == [:])
        #expect(details.notice == nil)
    }

    @Test func `without tasks the list is empty and nothing is read`() async throws {
        let (listing, details) = try await poll()
        #expect(listing.entries.isEmpty)
        #expect(details.snapshots.isEmpty)
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/task") == 0)
    }

    @Test func `with display: both, values keep their types and labels are beside them`() async throws {
        let task = instance.addTask(title: "A", priority: 1, assignedTo: "john.doe")
        let (_, details) = try await poll([
            "display": "both", "fields": ["priority", "assigned_to", ["opener": "opened_by.name"]],
        ])
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(snapshot.fields["priority"] == 1)
        #expect(snapshot.labels["priority"] == "1 - Critical")
        #expect(snapshot.labels["assigned_to"] == "John Doe")
        #expect(snapshot.className == "incident")
    }

    @Test func `with labels, numbers and references have display values, and times stay times`() async throws {
        let task = instance.addTask(title: "A", priority: 1, assignedTo: "john.doe")
        let (_, details) = try await poll(["display": "labels", "fields": ["priority", "assigned_to", "active", "opened_at"]])
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(
            snapshot.fields == [
                "priority": "1 - Critical", "assigned_to": "John Doe", "active": true, "opened_at": "2026-01-05T09:00:00.000000Z",
            ])
        #expect(snapshot.className == "incident")
    }

    @Test func `a field of a referenced record has its own path as its name`() async throws {
        let task = instance.addTask(NewTask(title: "A", assignedTo: "john.doe", openedBy: "abel.tuter"))
        let (_, details) = try await poll(["fields": [["opener": "opened_by.name"]]])
        #expect(details.snapshots[TaskKey(task.id)]?.fields == ["opener": "Abel Tuter"])
    }

    @Test func `an unknown field is reported with a suggestion once all records are read`() async throws {
        instance.addTask(title: "A", assignedTo: "john.doe")
        instance.addTask(title: "B", assignedTo: "john.doe")
        practice.simulation.faults.add(.sloppyQueries, "GET", path: "/api/now", times: nil)
        let settings: JSON.Object = ["fields": ["number", "priorty", ["who": "opened_by.nam"], "caller_id"]]
        let (_, details) = try await poll(settings)
        let notice = try #require(details.notice)
        #expect(
            notice.hasPrefix(
                "No record of source my-work has the fields `priorty` (did you mean `priority`?), `who` (`opened_by.nam`), "
                    + "`caller_id`, so they stay empty."))
        let source = try await source(settings)
        let listing = try await source.list(from: LastPoll()).listing
        let some = try await source.details(of: [listing.entries[0].key], in: listing)
        #expect(some.notice == nil, "one record is not all")
    }

    @Test func `a field with another path is redefined, and the fields whose values labels replace`() async throws {
        let connection = try await practice.open()
        func source(_ rank: JSON, _ display: JSON = "values") throws -> TrackerSource {
            let settings: JSON.Object = ["fields": ["number", ["rank": rank], "active", "due_date"], "display": display]
            return try TrackerSource(name: "my-work", settings: Settings(settings), connection: connection)
        }
        let before = try source("urgency")
        #expect(try source("impact").redefined(since: before) == ["rank"])
        #expect(try source("urgency", "both").redefined(since: before).isEmpty)
        #expect(try source("urgency", "labels").redefined(since: before) == ["number", "rank"])
    }

    @Test func `German labels become types, and classes do not depend on the language`() async throws {
        let task = instance.addTask(title: "Drucker", assignedTo: "john.doe")
        instance.setLanguage(.german)
        let (_, details) = try await poll()
        #expect(details.snapshots[TaskKey(task.id)]?.type == "Störung")
        #expect(details.snapshots[TaskKey(task.id)]?.className == "incident")
    }

    @Test(arguments: [
        #"<!channel> ${{ secret.x }} "; DROP TABLE"#, "\u{202e}abc\t\\\"", "😀 \u{0}x", #"{"error":{"message":"x"}}"#,
    ])
    func `a hostile title arrives as text`(_ title: String) async throws {
        let task = instance.addTask(title: title, assignedTo: "john.doe")
        let (_, details) = try await poll()
        #expect(details.snapshots[TaskKey(task.id)]?.title == title)
    }

    @Test func `null and empty fields become nulls and empty texts`() async throws {
        let task = instance.addTask(title: "", assignedTo: "john.doe", fields: ["priority": ""])
        instance.changeUser("john.doe") { $0.hiddenFields = ["number", "state", "sys_created_on"] }
        let (_, details) = try await poll()
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(snapshot.number == "")
        #expect(snapshot.title == "")
        #expect(snapshot.fields["priority"] == .null)
        #expect(snapshot.fields["state"] == .null)
        #expect(snapshot.fields["sys_created_on"] == .null)
    }

    @Test func `many tasks are read a hundred at a time`() async throws {
        for number in 1...250 { instance.addTask(title: "Task \(number)", assignedTo: "john.doe") }
        let (listing, details) = try await poll()
        #expect(listing.entries.count == 250)
        #expect(Set(details.snapshots.values.map(\.title)).count == 250)
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/task") == 3)
    }

    @Test func `a request that is too large for the server is split in two`() async throws {
        for number in 1...20 { instance.addTask(title: "Task \(number)", assignedTo: "john.doe") }
        practice.simulation.faults.add(.transactionCancelled, "GET", path: "/api/now/v2/table/task")
        let (_, details) = try await poll()
        #expect(details.snapshots.count == 20)
        #expect(details.snapshots.values.allSatisfy { !$0.className.isEmpty })
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/task") == 3)
    }

    @Test(arguments: [true, false])
    func `an address that is too long is sent in a batch, or with fewer tasks if that is refused`(
        _ takesBatches: Bool
    ) async throws {
        instance.settings.longestAddress = 1200
        instance.settings.takesBatches = takesBatches
        for number in 1...60 { instance.addTask(title: "Task \(number)", assignedTo: "john.doe") }
        let (_, details) = try await poll()
        #expect(details.snapshots.count == 60)
        #expect(details.snapshots.values.allSatisfy { !$0.className.isEmpty })
        #expect(practice.simulation.requests.count("POST", path: "/api/now/v1/batch") >= 1)
    }

    @Test func `the reason why a task left is read from its record`() async throws {
        func task() -> TaskKey { TaskKey(instance.addTask(title: "A", assignedTo: "john.doe").id) }
        let (closed, given, deleted, hidden) = (task(), task(), task(), task())
        instance.closeTask(closed.text)
        instance.assign(given.text, to: "abel.tuter")
        instance.deleteTask(deleted.text)
        instance.changeUser("john.doe") { $0.hiddenTasks = [hidden.text] }
        let (_, details) = try await poll(gone: [closed, given, deleted, hidden])
        #expect(details.departures == [closed: .closed, given: .leftQuery, deleted: .gone, hidden: .gone])
        #expect(details.snapshots.isEmpty)
    }

    @Test func `a task missing from the list has not left while its record is active and ours`() async throws {
        let keys = (0..<150).map { TaskKey(instance.addTask(title: "Task \($0)", assignedTo: "john.doe").id) }
        instance.closeTask(keys[0].text)
        practice.simulation.faults.add(.emptyList, "GET", path: "/api/x_snc_my_work")
        let (listing, details) = try await poll(gone: keys)
        #expect(listing.entries.isEmpty)
        #expect(details.remaining == Set(keys.dropFirst()))
        #expect(details.departures == [keys[0]: .closed])
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/task") == 2)
    }

    @Test func `a task missing from the list has not left either if the account cannot read its own user`() async throws {
        let (mine, given) = (
            instance.addTask(title: "Mine", assignedTo: "john.doe"), instance.addTask(title: "Given", assignedTo: "abel.tuter")
        )
        instance.changeUser("john.doe") { $0.users = .hidden }
        practice.simulation.faults.add(.emptyList, "GET", path: "/api/x_snc_my_work")
        let (_, details) = try await poll(gone: [TaskKey(mine.id), TaskKey(given.id)])
        #expect(details.remaining == [TaskKey(mine.id)])
        #expect(details.departures == [TaskKey(given.id): .leftQuery])
    }

    @Test func `without access to records, the list's fields are used and the reason is reported`() async throws {
        let task = instance.addTask(title: "Printer", priority: 1, assignedTo: "john.doe")
        instance.changeUser("john.doe") { $0.tasks = .forbidden }
        let gone = TaskKey(String(repeating: "f", count: 32))
        let (_, details) = try await poll(gone: [gone])
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(snapshot.number == task.number)
        #expect(snapshot.title == "Printer")
        #expect(snapshot.type == "Incident")
        #expect(snapshot.className == "")
        #expect(snapshot.fields["priority"] == .null)
        #expect(snapshot.fields["active"] == true)
        #expect(snapshot.fields["assigned_to"] == .string(instance.user("john.doe")?.id ?? ""))
        #expect(snapshot.fields["sys_created_on"] == "2026-01-05T09:00:00.000000Z")
        #expect(details.departures == [gone: .unknown])
        #expect(details.notice?.contains("may not read tasks from the Table API") == true)
    }

    @Test func `a listed task with a hidden record keeps the list's fields`() async throws {
        let (seen, hidden) = (
            instance.addTask(title: "Seen", assignedTo: "john.doe"), instance.addTask(title: "Hidden", assignedTo: "john.doe")
        )
        let source = try await source()
        let listing = try await source.list(from: LastPoll()).listing
        instance.changeUser("john.doe") { $0.hiddenTasks = [hidden.id] }
        let details = try await source.details(of: listing.entries.map(\.key), in: listing)
        #expect(details.snapshots[TaskKey(seen.id)]?.className == "incident")
        #expect(details.snapshots[TaskKey(hidden.id)]?.title == "Hidden")
        #expect(details.notice?.contains("cannot read 1 task of 2") == true)
    }

    @Test(arguments: [false, true])
    func `all answers of a server that ignores the query are refused`(_ isFiltered: Bool) async throws {
        let task = instance.addTask(title: "Mine", assignedTo: "john.doe")
        for number in 1...3 { instance.addTask(title: "Other \(number)", assignedTo: "abel.tuter") }
        let rows = HTTPResponse.json(
            200, [:], #"{"result":[{"sys_id":"\#(task.id)"},{"sys_id":"\#(String(repeating: "e", count: 32))"}]}"#)
        let session = try practice.session(over: ScriptedExchange([rows]))
        let failure = await failure {
            if isFiltered {
                let reader = TableReader(session: session, table: "task", paths: ["sys_id"])
                try await reader.rows(of: [TaskKey(task.id)], matching: .all) { _, _ in }
            } else {
                _ = try await TaskTable(session: session, paths: ["sys_id"], display: .values).read([TaskKey(task.id)])
            }
        }
        #expect(failure?.reason == .badAnswer)
        #expect(failure?.message.contains("it ignored the query") == true)
    }

    @Test func `without the update set, the message names the update set to install`() async throws {
        var settings = instance.settings
        settings.hasTracker = false
        instance.settings = settings
        let failure = await failure { _ = try await poll() }
        #expect(failure?.reason == .apiMissing)
        #expect(failure?.message.contains("\"My Work\" update set") == true)
    }

    @Test(arguments: [
        (Fault.truncatedJSON, Failure.Reason.badAnswer), (.cutBody, .cut), (.transactionCancelled, .quota),
        (.hibernating, .hibernating), (.badGateway, .gateway), (.accepted, .dropped), (.forbidden, .forbidden),
        (.internalError, .serverError), (.resetAfter, .cut), (.status(200, body: "[]"), .unexpectedPage),
    ])
    func `an incomplete list fails the poll`(_ fault: Fault, _ reason: Failure.Reason) async throws {
        instance.addTask(title: "A", assignedTo: "john.doe")
        // A read over a connection that ends without an answer is made again once.
        practice.simulation.faults.add(fault, "GET", path: "/api/x_snc_my_work", times: fault == .resetAfter ? 2 : 1)
        #expect(await failure { _ = try await poll() }?.reason == reason)
    }

    @Test func `the wait that an instance asks for rests the source`() async throws {
        practice.simulation.faults.add(.tooManyRequests(.date(in: 90)), "GET", path: "/api/x_snc_my_work")
        #expect(await failure { _ = try await poll() }?.remedy == .rest(.seconds(90)))
    }

    @Test func `a body equal to the last one is not parsed`() async throws {
        // This one cannot be parsed, so an attempt would fail.
        let body = #"{"result":{"Incident":[{"sys_id":}]}}"#
        let login = #"{"result":[{"user_name":"john.doe","sys_id":"6816f79cc0a8016401c5a33be04be441"}]}"#
        let exchange = ScriptedExchange([.json(200, [:], login), .json(200, [:], body)])
        let source = try TrackerSource(name: "my-work", settings: Settings([:]), connection: practice.connection(over: exchange))
        let last = Fingerprint(content: Array(body.utf8))
        let answer = try await source.list(from: LastPoll(answer: last))
        #expect(answer.coverage == .same && answer.fingerprint == last && answer.listing.entries.isEmpty)
        for another in [nil, Fingerprint(content: Array((body + " ").utf8))] {
            let failure = await failure { _ = try await source.list(from: LastPoll(answer: another)) }
            #expect(failure?.reason == .badAnswer)
        }
    }

    @Test func `an id that is not a sys_id fails the whole poll`() async throws {
        instance.addTask(NewTask(title: "Odd", assignedTo: "john.doe", sysID: "../../admin"))
        let failure = await failure { _ = try await poll() }
        #expect(failure?.reason == .badAnswer)
        #expect(failure?.message.contains("an invalid sys_id: '../../admin'") == true)
    }

    @Test func `a source with a timeout passes it to the request`() async throws {
        let connection = try await practice.open()
        _ = try await connection.reading.send(.tasks)
        practice.simulation.faults.add(.slow(milliseconds: 3000), "GET", path: "/api/x_snc_my_work")
        let source = try TrackerSource(name: "my-work", settings: Settings(["timeout": 200_000]), connection: connection)
        let failure = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.reason == .timeout)
    }

    @Test func `a source's memory depends on instance, user and kind`() async throws {
        let source = try await source()
        #expect(source.scope.user == "john.doe")
        #expect(source.scope.kind == "tracker")
        #expect(source.scope.instance.hasPrefix("http://127.0.0.1:"))
    }
}
