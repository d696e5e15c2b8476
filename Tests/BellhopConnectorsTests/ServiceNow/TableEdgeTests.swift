import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Rows exactly at the start or end of a window or of a page.
@Suite struct TableEdgeTests {
    let practice = Practice()
    let exchange: InProcessExchange
    var instance: SimulatedInstance { practice.instance }

    private static let times = TableTimes(overlap: .seconds(120), lag: .seconds(5), reconcile: .seconds(900), few: 0)

    init() { exchange = InProcessExchange(practice.simulation) }

    /// A source that reads all rows once, and then windows.
    private func source(page: Int = 1000) throws -> TableSource {
        var settings = try TableSettings(Settings(["table": "incident", "query": "active=true"]), source: "incidents")
        settings.times = Self.times
        settings.page = page
        return try TableSource(name: "incidents", settings: settings, connection: practice.connection(over: exchange))
    }

    /// Some rows, and an observer that has read them ten minutes later.
    private func observed(
        rows count: Int, page: Int = 1000
    ) async throws -> (tasks: [SimulatedTask], source: TableSource, observer: TableObserver) {
        let tasks = (0..<count).map { instance.addTask(title: "task \($0)") }
        let source = try source(page: page)
        var observer = TableObserver()
        await practice.clock.advance(by: .seconds(600))
        _ = try await observer.poll(source)
        return (tasks, source, observer)
    }

    /// Changes a row with an earlier timestamp, as a transaction that commits only now.
    private func commit(_ task: SimulatedTask, at stamp: Timestamp) {
        let updates = instance.task(task.id)?.updates ?? 0
        instance.setTask(
            task.id,
            to: [
                "short_description": "committed at \(practice.clock.now.seconds)", "sys_updated_on": stamp.sql,
                "sys_mod_count": String(updates + 1),
            ])
    }

    private func watermark(_ observer: TableObserver) throws -> Timestamp {
        try #require(TableCursor(observer.lastPoll.cursor)?.watermark)
    }

    // MARK: Pages while reading all rows

    @Test(arguments: 1...3) func `a page that is briefly empty does not end the reading of all rows`(_ skip: Int) async throws {
        for number in 0..<10 { instance.addTask(title: "task \(number)") }
        practice.simulation.faults.add(.emptyList, "GET", path: "/api/now/v2/table/incident", skip: skip)
        var observer = TableObserver()
        let (answer, _) = try await observer.poll(try source(page: 3))
        #expect(answer.listing.entries.count == 10)
        #expect(practice.simulation.faults.rules.map(\.struck) == [1])
    }

    // MARK: A window's edges

    @Test func `a row at the very start of a window is reported`() async throws {
        let tasks = (0..<4).map { instance.addTask(title: "task \($0)") }
        let source = try source()
        var observer = TableObserver()
        await practice.clock.advance(by: .seconds(600))
        instance.touchTask(tasks[0].id)
        await practice.clock.advance(by: .seconds(5))
        _ = try await observer.poll(source)
        let start = try watermark(observer) - Self.times.overlap
        #expect(start == practice.clock.now - .seconds(125))
        commit(tasks[1], at: start)
        commit(tasks[2], at: start + .seconds(1))
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .part)
        #expect(comparison.changed.count == 2)
        #expect(try await observer.changes(in: source) == [])
    }

    @Test func `a window that starts between two seconds includes the rows that its query includes`() {
        let start = Timestamp(seconds: 1_767_603_600)
        let walk = Walk.window(
            field: "sys_updated_on", from: start + .milliseconds(700), through: start + .milliseconds(9_700))
        func allows(_ seconds: Int64) -> Bool {
            walk.allows(Walk.Place(key: TaskKey("a"), time: start + .seconds(seconds)), after: nil)
        }
        #expect(!allows(-1) && allows(0) && allows(9) && !allows(10))
        let query = walk.query(.all, after: nil).text
        #expect(query.contains(">=\(start.sql)") && query.contains("<=\((start + .seconds(9)).sql)"))
    }

    @Test func `a row committed later than the overlap is reported when all rows are read`() async throws {
        var (tasks, source, observer) = try await observed(rows: 4)
        commit(tasks[1], at: try watermark(observer) - Self.times.overlap - .seconds(1))
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .part)
        #expect(comparison.isEmpty)
        await practice.clock.advance(by: .seconds(900))
        #expect(try await observer.changes(in: source) == [tasks[1].id])
    }

    @Test func `a row at the very end of a window is reported, and one a second later in the next window`() async throws {
        var (tasks, source, observer) = try await observed(rows: 4)
        await practice.clock.advance(by: .seconds(60))
        let end = practice.clock.now - Self.times.lag
        commit(tasks[1], at: end)
        commit(tasks[2], at: end + .seconds(1))
        #expect(try await observer.changes(in: source) == [tasks[1].id])
        #expect(try watermark(observer) == end)
        await practice.clock.advance(by: .seconds(1))
        #expect(try await observer.changes(in: source) == [tasks[2].id])
    }

    @Test func `a window never starts after the end of the one before, whatever the timestamps of its rows`() async throws {
        let tasks = (0..<4).map { instance.addTask(title: "task \($0)") }
        let source = try source()
        var observer = TableObserver()
        await practice.clock.advance(by: .seconds(600))
        // The clock of one of the server's nodes is ahead.
        commit(tasks[0], at: practice.clock.now + .seconds(300))
        _ = try await observer.poll(source)
        #expect(try watermark(observer) <= practice.clock.now - Self.times.lag)
        await practice.clock.advance(by: .seconds(60))
        instance.touchTask(tasks[1].id)
        await practice.clock.advance(by: .seconds(5))
        #expect(try await observer.changes(in: source) == [tasks[1].id])
        // It is reported once its time has come.
        await practice.clock.advance(by: .seconds(240))
        commit(tasks[0], at: practice.clock.now)
        await practice.clock.advance(by: .seconds(5))
        #expect(try await observer.changes(in: source) == [tasks[0].id])
    }

    // MARK: A page's edges

    /// Some rows of one second followed by some of the next, in pages of a given size.
    @Test(arguments: [
        (same: 5, next: 3, page: 5), (same: 10, next: 5, page: 5), (same: 5, next: 0, page: 5), (same: 4, next: 3, page: 5),
        (same: 6, next: 4, page: 5), (same: 2, next: 2, page: 1), (same: 11, next: 9, page: 10),
    ])
    func `no row is lost if a page ends in, or right after, a run of rows of one second`(
        _ course: (same: Int, next: Int, page: Int)
    ) async throws {
        var (_, source, observer) = try await observed(rows: course.same + course.next, page: course.page)
        await practice.clock.advance(by: .seconds(60))
        let tasks = instance.tasks
        for task in tasks.prefix(course.same) { instance.touchTask(task.id) }
        await practice.clock.advance(by: .seconds(1))
        for task in tasks.dropFirst(course.same) { instance.touchTask(task.id) }
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.changes(in: source) == tasks.map(\.id).sorted())
        #expect(try await observer.changes(in: source) == [])
    }

    @Test func `two rows of one second on two pages are both reported, even if the first moves meanwhile`() async throws {
        var (_, source, observer) = try await observed(rows: 4, page: 1)
        await practice.clock.advance(by: .seconds(60))
        let pair = Array(instance.tasks.map(\.id).sorted().prefix(2))
        for id in pair { instance.touchTask(id) }
        await practice.clock.advance(by: .seconds(10))
        let instance = instance
        exchange.interruptOnce(at: "sys_id%3E\(pair[0])") {
            instance.updateTask(pair[0], set: ["short_description": "moved on"])
        }
        #expect(try await observer.changes(in: source) == pair)
        exchange.interrupt { _ in }
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.changes(in: source) == [pair[0]])
    }

    @Test func `a hidden row that leaves during a reading of all rows hides no other row`() async throws {
        for number in 0..<25 { instance.addTask(title: "task \(number)") }
        let sorted = instance.tasks.map(\.id).sorted()
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(sorted[..<10]) }
        let source = try source(page: 10)
        let instance = instance
        // The first ten rows are hidden: before the next ten are read, one of them is deleted and the others move up.
        exchange.interruptOnce(at: "sysparm_offset=10") { instance.deleteTask(sorted[3]) }
        var observer = TableObserver()
        #expect(try await observer.changes(in: source) == Array(sorted[10...]))
    }

    @Test func `a poll fails after too many hidden rows, and names the access rules`() async throws {
        for number in 0..<1100 { instance.addTask(title: "task \(number)") }
        let sorted = instance.tasks.map(\.id).sorted()
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(sorted[3...]) }
        let source = try source(page: 10)
        let failure = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.reason == .tooLarge)
        #expect(failure?.message.contains("access rules hide them") == true)
        #expect(practice.simulation.requests.count(path: "/api/now/v2/table/incident") < 120)
        // Fewer hidden rows are skipped.
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(sorted[3..<950]) }
        #expect(try await source.list(from: LastPoll()).listing.entries.count == 153)
    }

    @Test func `a page that the server cuts is requested again, smaller`() async throws {
        for number in 0..<100 { instance.addTask(title: "task \(number)") }
        let source = try source(page: 40)
        var observer = TableObserver()
        _ = try await observer.poll(source)
        await practice.clock.advance(by: .seconds(60))
        for task in instance.tasks { instance.touchTask(task.id) }
        await practice.clock.advance(by: .seconds(10))
        practice.simulation.faults.add(.transactionCancelled, path: "/api/now/v2/table/incident", skip: 1)
        #expect(try await observer.changes(in: source).count == 100)
        #expect(source.state.limit == 20)
    }

    @Test func `reading continues after a row that changed while the server read it`() async throws {
        for number in 0..<5 { instance.addTask(title: "task \(number)") }
        let sorted = instance.tasks.map(\.id).sorted()
        var settings = try TableSettings(Settings(["table": "incident", "query": "active=true"]), source: "incidents")
        settings.page = 2
        let source = try TableSource(
            name: "incidents", settings: settings,
            connection: practice.connection(over: ClosedMeanwhile(id: sorted[1], inner: exchange)))
        var observer = TableObserver()
        #expect(try await observer.changes(in: source) == [sorted[0], sorted[2], sorted[3], sorted[4]])
        let queries = practice.simulation.requests.matching("GET", path: "/api/now/v2/table/incident").map(\.query)
        let pages = queries.filter { $0.contains("sysparm_limit=2") }.map { PercentEncoding.decode($0) }
        #expect(pages.count == 3)
        #expect(pages.dropFirst().first?.contains("sys_id>\(sorted[1])") == true)
    }
}

/// A server on which a row is closed after it was found and before it is read.
private struct ClosedMeanwhile: HTTPExchange {
    var id: String
    var inner: InProcessExchange

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        var response = try await inner.send(request)
        guard case .object(var body)? = try? JSON.parse(response.body), let rows = body["result"]?.asArray else {
            return response
        }
        let read = rows.map { row in
            guard row["sys_id"]?.asString == id, case .object(var members) = row else { return row }
            members["active"] = "false"
            return .object(members)
        }
        body["result"] = .array(read)
        response.body = JSON.object(body).encoded()
        return response
    }
}
