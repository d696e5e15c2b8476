import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite struct TableSourceTests {
    let practice = Practice()
    let exchange: InProcessExchange
    var instance: SimulatedInstance { practice.instance }

    init() { exchange = InProcessExchange(practice.simulation) }

    func source(_ settings: JSON.Object = [:]) throws -> TableSource {
        var values = JSON.Object(["table": "incident", "query": "active=true"], with: settings)
        if settings["where"] != nil { values["query"] = nil }
        return try TableSource(name: "incidents", settings: Settings(values), connection: practice.connection(over: exchange))
    }

    var tableRequests: [ReceivedRequest] {
        practice.simulation.requests.matching("GET", path: "/api/now/v2/table/incident")
    }

    // MARK: Rows

    @Test func `a row is a task with its class, address and typed fields, without another request`() async throws {
        let task = instance.addTask(title: "Printer", priority: 2, assignedTo: "john.doe")
        let source = try source(["fields": ["priority", "active", "opened_at", ["caller_name": "caller_id.name"]]])
        let answer = try await source.list(from: LastPoll())
        let count = practice.simulation.requests.total
        let details = try await source.details(of: [TaskKey(task.id)], in: answer.listing)
        #expect(practice.simulation.requests.total == count)
        let snapshot = try #require(details.snapshots[TaskKey(task.id)])
        #expect(snapshot.number == task.number)
        #expect(snapshot.title == "Printer")
        #expect(snapshot.type == "Incident")
        #expect(snapshot.className == "incident")
        #expect(snapshot.url.hasSuffix("/nav_to.do?uri=incident.do%3Fsys_id%3D\(task.id)"))
        #expect(snapshot.fields["priority"] == 2)
        #expect(snapshot.fields["active"] == true)
        #expect(snapshot.fields["caller_name"] == "")
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .hidden])
    func `an answer has the name of an account that only the instance knows`(_ users: SimulatedUser.Reading) async throws {
        instance.addAPIKey("canary-key", of: "john.doe")
        instance.changeUser("john.doe") { $0.users = users }
        let settings = Settings(["instance": "http://127.0.0.1:9", "auth": ["api_key": "canary-key"]])
        let connection = try ServiceNowConnection(name: "snow", settings: settings, in: practice.environment(), over: exchange)
        let table = try TableSource(name: "incidents", settings: Settings(["table": "incident"]), connection: connection)
        let tracker = try TrackerSource(name: "my-work", settings: Settings([:]), connection: connection)
        let name = users == .allowed ? "john.doe" : ""
        #expect(try await table.list(from: LastPoll()).user == name)
        #expect(try await tracker.list(from: LastPoll()).user == name)
    }

    @Test(arguments: ["values", "labels", "both"])
    func `rows are read in every form that fields can have`(_ display: String) async throws {
        let task = instance.addTask("change_request", title: "A", priority: 1, assignedTo: "john.doe")
        let source = try source([
            "table": "change_request", "display": .string(display), "fields": ["priority", "assigned_to", "opened_at"],
        ])
        let answer = try await source.list(from: LastPoll())
        let snapshot = try #require(
            try await source.details(of: [TaskKey(task.id)], in: answer.listing).snapshots[TaskKey(task.id)])
        #expect(snapshot.type == "Change Request")
        #expect(snapshot.fields["priority"] == (display == "labels" ? "1 - Critical" : 1))
        #expect(snapshot.labels["priority"] == (display == "values" ? nil : "1 - Critical"))
        #expect(snapshot.fields["opened_at"] != .null)
    }

    @Test func `a renamed field is read from unchanged rows too, although the answer is the same`() async throws {
        for number in 0..<3 { instance.addTask(title: "task \(number)") }
        var observer = TableObserver()
        _ = try await observer.poll(try source(["fields": ["priority"]]))
        #expect(try await observer.poll(try source(["fields": ["priority"]])).1.isEmpty)
        let (answer, comparison) = try await observer.poll(try source(["fields": [["rank": "priority"]]]))
        #expect(answer.coverage == .whole && comparison.changed.count == 3)
        let other = try source(["fields": [["rank": "urgency"]]])
        #expect(try await observer.poll(other).1.changed.count == 3)
        #expect(try other.redefined(since: source(["fields": [["rank": "priority"]]])) == ["rank"])
        #expect(try other.redefined(since: source(["fields": ["priority"]])).isEmpty)
        // Types are not included: they also depend on the dictionary.
        #expect(BoundSource(other, connection: "snow").definitions == ["rank": "urgency"])
    }

    // MARK: Paging

    @Test func `all rows of one second are listed once, page by page`() async throws {
        for number in 0..<250 { instance.addTask(title: "task \(number)") }
        let source = try source(["page": 100])
        var observer = TableObserver()
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .whole)
        #expect(comparison.new.count == 250)
        // And in a window too.
        await practice.clock.advance(by: .seconds(60))
        for task in instance.tasks { instance.touchTask(task.id) }
        await practice.clock.advance(by: .seconds(60))
        let (window, again) = try await observer.poll(source)
        #expect(window.coverage == .part)
        #expect(again.changed.count == 250)
        #expect(again.new.isEmpty)
    }

    @Test func `short and empty pages are not the end if access rules hide rows`() async throws {
        for number in 0..<100 { instance.addTask(title: "task \(number)") }
        let sorted = instance.tasks.map(\.id).sorted()
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(sorted[15..<60] + sorted[95...]) }
        var observer = TableObserver()
        let (_, comparison) = try await observer.poll(try source(["page": 10]))
        #expect(comparison.new.count == 50)
    }

    @Test func `without a row count, the list ends at an empty page that the statistics confirm`() async throws {
        for number in 0..<35 { instance.addTask(title: "task \(number)") }
        let sorted = instance.tasks.map(\.id).sorted()
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(sorted[10..<30]) }
        practice.simulation.faults.add(.uncounted, times: nil)
        var observer = TableObserver()
        let (_, comparison) = try await observer.poll(try source(["page": 10]))
        #expect(comparison.new.count == 15)
        #expect(practice.simulation.requests.count(path: "/api/now/v1/stats/incident") > 0)
    }

    @Test func `the filter and the window are repeated in every group`() async throws {
        for number in 0..<30 { instance.addTask(title: "task \(number)", priority: number % 3 + 1) }
        let source = try source(["query": "priority=1^NQpriority=2^state=1", "page": 10])
        var observer = TableObserver()
        _ = try await observer.poll(source)
        #expect(observer.lastPoll.known.count == 20)
        await practice.clock.advance(by: .seconds(300))
        for task in instance.tasks { instance.touchTask(task.id) }
        await practice.clock.advance(by: .seconds(10))
        practice.simulation.requests.clear()
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .part)
        #expect(comparison.changed.count == 20)
        for request in tableRequests {
            let query = try #require(request.parameter("sysparm_query"))
            for group in query.split(separator: "^NQ") { #expect(group.contains("sys_updated_on")) }
        }
    }

    @Test func `after a cancelled transaction pages are smaller, and the poll succeeds`() async throws {
        for number in 0..<100 { instance.addTask(title: "task \(number)") }
        let source = try source(["page": 100])
        try await source.columns.examine()
        practice.simulation.faults.add(.transactionCancelled, path: "/api/now/v2/table/incident")
        practice.simulation.faults.add(.truncatedJSON, path: "/api/now/v2/table/incident")
        var observer = TableObserver()
        let (_, comparison) = try await observer.poll(source)
        #expect(comparison.new.count == 100)
        #expect(source.state.limit < 100)
        #expect(practice.simulation.faults.struck == 2)
    }

    // MARK: Time

    @Test func `a quiet poll of a million rows is one small request`() async throws {
        instance.addTask(title: "A")
        let source = try source()
        var observer = TableObserver()
        _ = try await observer.poll(source)
        let known = (0..<1_000_000).map { number in
            let digits = String(number, radix: 16)
            return KnownTask(key: TaskKey(String(repeating: "0", count: 32 - digits.utf8.count) + digits), listed: .zero)
        }
        observer.lastPoll.known = KnownTasks(known + Array(observer.lastPoll.known))
        var cursor = try #require(TableCursor(observer.lastPoll.cursor))
        cursor.reconciled = practice.clock.now
        observer.lastPoll.cursor = cursor.cursor
        await practice.clock.advance(by: .seconds(60))
        practice.simulation.requests.clear()
        let answer = try await source.list(from: observer.lastPoll)
        #expect(practice.simulation.requests.total == 1)
        #expect(answer.coverage == .part)
        #expect(answer.listing.entries.count <= 1)
        #expect(answer.listing.body.count < 2000)
    }

    @Test func `the server's clock determines a window, whatever ours shows`() async throws {
        for number in 0..<1001 { instance.addTask(title: "task \(number)") }
        var observer = TableObserver()
        let first = try source()
        _ = try await observer.poll(first)
        _ = try await observer.poll(first)  // known to be many now: all are read once more
        await practice.clock.advance(by: .seconds(30))
        let (answer, _) = try await observer.poll(try source())
        #expect(answer.coverage == .part)
        let windows = tableRequests.compactMap { $0.parameter("sysparm_query") }.filter { $0.contains("sys_updated_on<=") }
        let end = (practice.clock.now - .seconds(5)).sql
        #expect(windows.last?.contains("sys_updated_on<=\(end)") == true)
    }

    @Test func `departures and changes without a timestamp are found when all rows are read`() async throws {
        for number in 0..<60 { instance.addTask(title: "task \(number)") }
        let source = try source(["page": 50])
        var observer = TableObserver()
        _ = try await observer.poll(source)
        let ids = instance.tasks.map(\.id)
        await practice.clock.advance(by: .seconds(300))
        instance.touchTask(ids[0])
        await practice.clock.advance(by: .seconds(60))
        _ = try await observer.poll(source)
        instance.setTask(ids[3], to: ["short_description": "changed in silence"])
        instance.closeTask(ids[4])
        instance.deleteTask(ids[5])
        await practice.clock.advance(by: .seconds(60))
        let (part, nothing) = try await observer.poll(source)
        #expect(part.coverage == .part)
        #expect(nothing.isEmpty)
        await practice.clock.advance(by: .seconds(600))
        let answer = try await source.list(from: observer.lastPoll)
        let comparison = observer.lastPoll.known.compare(with: answer)
        #expect(answer.coverage == .whole)
        #expect(comparison.changed.count == 1)
        #expect(Set(comparison.gone.map(\.text)) == [ids[4], ids[5]])
        let details = try await source.details(of: comparison.gone, in: answer.listing)
        #expect(details.departures == [TaskKey(ids[4]): .closed, TaskKey(ids[5]): .gone])
    }

    @Test func `a row that was skipped while all rows were read has not left`() async throws {
        let task = instance.addTask(title: "A")
        let source = try source()
        let answer = try await source.list(from: LastPoll())
        let nothing = try await source.details(of: [TaskKey(task.id)], in: Listing())
        #expect(nothing.remaining == [TaskKey(task.id)])
        #expect(nothing.departures.isEmpty)
        #expect(answer.listing.entries.count == 1)
    }

    @Test func `a row without a time is still a task, with a notice`() async throws {
        let task = instance.addTask(title: "A", fields: ["sys_updated_on": ""])
        instance.addTask(title: "B")
        let (answer, comparison) = try await {
            var observer = TableObserver(); return try await observer.poll(try source())
        }()
        #expect(comparison.new.count == 2)
        #expect(answer.notices.count == 1)
        #expect(answer.notices.first?.contains(task.id) == true)
    }

    @Test func `a row with an invalid sys_id is skipped and reported, without affecting others`() async throws {
        instance.addTask(title: "A")
        instance.addTask(NewTask("incident", title: "odd", sysID: "zz-not-an-id"))
        instance.addTask(title: "B")
        var observer = TableObserver()
        let source = try source(["page": 10])
        let (answer, comparison) = try await observer.poll(source)
        #expect(comparison.new.count == 2)
        #expect(answer.notices.count == 1)
        #expect(answer.notices.first?.contains("zz-not-an-id") == true)
        let (again, nothing) = try await observer.poll(source)
        #expect(nothing.isEmpty)
        #expect(again.coverage != .part)
    }

    @Test func `the query's category is sent with every page`() async throws {
        for number in 0..<15 { instance.addTask(title: "task \(number)") }
        _ = try await source(["page": 10, "query_category": "report"]).list(from: LastPoll())
        let pages = tableRequests.filter { $0.parameter("sysparm_limit") == "10" }
        #expect(pages.count == 2)
        #expect(pages.allSatisfy { $0.parameter("sysparm_query_category") == "report" })
    }

    @Test func `an unserviced batch is not an answer, and the next poll sends it again`() async throws {
        instance.settings.longestAddress = 2048
        let numbers = (0..<300).map { "INC\(10_000_000 + $0)" } + [instance.addTask(title: "A").number]
        let source = try source(["query": .string("numberIN" + numbers.joined(separator: ","))])
        try await source.columns.examine()
        practice.simulation.faults.add(.unserviced, path: "/api/now/v1/batch")
        let failure = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.reason == .dropped)
        #expect(try await source.list(from: LastPoll()).listing.entries.count == 1)
    }

    @Test func `rows that move to the end after each page, and links in a circle, neither lose nor double a row`() async throws {
        for number in 0..<45 { instance.addTask(title: "task \(number)") }
        let source = try source(["page": 10])
        var observer = TableObserver()
        _ = try await observer.poll(source)
        await practice.clock.advance(by: .seconds(300))
        for task in instance.tasks { instance.updateTask(task.id, set: ["short_description": "again"]) }
        await practice.clock.advance(by: .seconds(60))
        practice.simulation.faults.add(.rowMoves, path: "/api/now/v2/table/incident", times: nil)
        practice.simulation.faults.add(.sameLinks, path: "/api/now/v2/table/incident", times: nil)
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .part)
        #expect(comparison.changed.count == 45)
        #expect(Set(comparison.changed.map { answer.listing.entries[$0].key }).count == 45)
        practice.simulation.faults.removeAll()
        await practice.clock.advance(by: .seconds(60))
        // The rows that moved are read once more, with their current values.
        #expect(try await observer.changes(in: source).count == 5)
    }
}
