import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Queries with mistakes, queries that are too long, and queries for missing fields.
extension TableSourceTests {
    @Test(arguments: [SimulatedUser.Reading.allowed, .hidden, .forbidden])
    func `a field that the table lacks is reported before any row is accepted`(_ access: SimulatedUser.Reading) async throws {
        for number in 0..<5 { instance.addTask(title: "task \(number)") }
        instance.changeUser("john.doe") { $0.dictionary = access }
        practice.simulation.faults.add(.sloppyQueries, times: nil)
        for settings: JSON.Object in [["query": "actve=true"], ["fields": ["pririty"]]] {
            let failure = await failure { _ = try await source(settings).list(from: LastPoll()) }
            #expect(failure?.reason == .badArguments)
            #expect(failure?.message.contains("has no field `") == true)
        }
        #expect(await failure { _ = try await source().list(from: LastPoll()) } == nil)
    }

    @Test func `the place of an unknown field is reported, and the examination lists the fields`() async throws {
        instance.addTask(title: "A")
        let failure = await failure { _ = try await source(["where": ["pririty": 1]]).list(from: LastPoll()) }
        #expect(failure?.message.contains("which `where` of source incidents names") == true)
        for access in [SimulatedUser.Reading.allowed, .hidden] {
            instance.changeUser("john.doe") { $0.dictionary = access }
            practice.simulation.faults.removeAll()
            if access == .hidden { practice.simulation.faults.add(.sloppyQueries, times: nil) }
            let sample = try await source().sample(5, fields: ["number", "pririty"])
            #expect(sample.columns.contains("number") && !sample.columns.contains("pririty"))
        }
    }

    @Test(arguments: [true, false])
    func `if the instance returns no rows for an unknown field, it is found once the table has a row`(
        _ hasDictionary: Bool
    ) async throws {
        instance.settings.invalidQueriesReturnNoRows = true
        instance.changeUser("john.doe") { $0.dictionary = hasDictionary ? .allowed : .hidden }
        let typo = try source(["query": "actve=true"])
        #expect(try await typo.list(from: LastPoll()).listing.entries.isEmpty)  // the server does not report it
        instance.addTask(title: "A")
        let failure = await failure { _ = try await typo.list(from: LastPoll()) }
        #expect(failure?.reason == .badArguments)
        #expect(failure?.message.contains("has no field `actve`") == true)
        #expect(try await source().list(from: LastPoll()).listing.entries.count == 1)
    }

    @Test func `rows that do not match the query invalidate the whole answer`() async throws {
        instance.addTask(title: "A", priority: 1)
        instance.addTask(title: "B", priority: 3)
        await practice.clock.advance(by: .seconds(3600))
        let source = try source(["query": "priority=1"])
        _ = try await source.list(from: LastPoll())
        let blind = EncodedQuery(.init("priority", .equal, "1"))
        let walk = TableWalk(
            reader: source.reader(source.paths), filter: blind, order: .whole, timeField: "sys_updated_on", state: source.state,
            clock: practice.clock, last: nil, known: KnownTasks())
        #expect(try await walk.run().listing.entries.count == 1)
        // As if the field were renamed in the meantime: the server drops that part of the query.
        var check = PageCheck(walk, began: practice.clock.now, after: nil)
        let all = try await source.reader(source.paths).page(.all, limit: 10)
        let page = try Listing(all.body, shape: .serviceNow)
        #expect(throws: Failure.self) { _ = try check.read(page) }
    }

    @Test func `rows in another order, or of another time, than requested invalidate the whole answer`() async throws {
        for number in 0..<3 { instance.addTask(title: "task \(number)") }
        let source = try source()
        try await source.columns.examine()
        var backward = EncodedQuery.all
        backward.order = [.init(field: "sys_id", descending: true)]
        let now = practice.clock.now
        let walks: [Walk] = [
            .whole, .window(field: "sys_updated_on", from: now, through: now),
            .window(field: "sys_updated_on", from: now + .seconds(1), through: now + .seconds(9)),
        ]
        let reply = try await source.reader(source.paths).page(backward, limit: 10)
        await practice.clock.advance(by: .seconds(3600))
        for walk in walks {
            let rows = TableWalk(
                reader: source.reader(source.paths), filter: .all, order: walk, timeField: "sys_updated_on", state: source.state,
                clock: practice.clock, last: nil, known: KnownTasks())
            var check = PageCheck(rows, began: practice.clock.now, after: nil)
            let page = try Listing(reply.body, shape: .serviceNow)
            #expect(throws: Failure.self) { _ = try check.read(page) }
        }
    }

    @Test func `a long query is sent in the body of a batch`() async throws {
        instance.settings.longestAddress = 2048
        for number in 0..<3 { instance.addTask(title: "task \(number)") }
        let numbers = (0..<300).map { "INC\(10_000_000 + $0)" } + instance.tasks.map(\.number)
        let source = try source(["query": .string("numberIN" + numbers.joined(separator: ",")), "page": 10])
        let answer = try await source.list(from: LastPoll())
        #expect(answer.listing.entries.count == 3)
        #expect(practice.simulation.requests.count("POST", path: "/api/now/v1/batch") > 0)
    }

    @Test func `a query too long for a proxy is sent in a batch, and so are later ones at once`() async throws {
        instance.settings.longestAddress = 700
        for number in 0..<12 { instance.addTask(title: "task \(number)") }
        let numbers = (0..<40).map { "INC\(10_000_000 + $0)" } + instance.tasks.map(\.number)
        let source = try source(["query": .string("numberIN" + numbers.joined(separator: ",")), "page": 10])
        #expect(try await source.list(from: LastPoll()).listing.entries.count == 12)
        // Only the first request has the query in its address.
        let long = tableRequests.filter { $0.path.utf8.count + $0.query.utf8.count >= 700 }
        #expect(long.count == 1)
        #expect(practice.simulation.requests.count("POST", path: "/api/now/v1/batch") >= 2)
    }

    @Test func `if batches are refused too, the message names the permission to add`() async throws {
        instance.settings.longestAddress = 700
        instance.settings.takesBatches = false
        let numbers = (0..<40).map { "INC\(10_000_000 + $0)" }
        let source = try source(["query": .string("numberIN" + numbers.joined(separator: ","))])
        let failure = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(failure?.reason == .tooLarge)
        #expect(failure?.message.contains("/api/now/v1/batch") == true)
    }

    @Test func `types come from the dictionary, and are stored in case it becomes unreachable`() async throws {
        let fields: JSON = ["number", "risk", "start_date", "correlation_id"]
        let source = try source(["table": "change_request", "fields": fields])
        #expect(source.schema["risk"]?.type == .text)
        await source.prepare(offline: true)
        #expect(source.schema["risk"]?.type == .text)
        await source.prepare(offline: false)
        #expect(source.schema["risk"]?.type == .int)
        #expect(source.schema["start_date"]?.type == .timestamp)
        let another = try self.source(["table": "change_request", "fields": fields])
        let asked = practice.simulation.requests.total
        await another.prepare(offline: true)
        #expect(another.schema["risk"]?.type == .int)
        #expect(practice.simulation.requests.total == asked)
    }

    @Test func `choices are read with their labels without a further request, and are remembered`() async throws {
        func choices(_ source: TableSource) -> [TaskSchema.Choice] { source.schema["priority"]?.choices ?? [] }
        let fields: JSON = ["number", "priority", "short_description"]
        let source = try source(["fields": fields])
        #expect(choices(source).isEmpty)
        await source.prepare(offline: false)
        #expect(choices(source).contains(TaskSchema.Choice("2", "2 - High")))
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/sys_choice") == 1)
        let another = try self.source(["fields": fields])
        await another.prepare(offline: true)
        #expect(choices(another) == choices(source))
        let labelled = try self.source(["fields": fields, "display": "labels"])
        await labelled.prepare(offline: true)
        #expect(choices(labelled).isEmpty)
    }
}
