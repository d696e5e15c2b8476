import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite struct JournalWatchTests {
    let practice = Practice()
    let exchange: InProcessExchange
    var instance: SimulatedInstance { practice.instance }

    init() { exchange = InProcessExchange(practice.simulation) }

    /// Polls comments as a poller does.
    struct Observer {
        var polls = TableObserver()
        var source: any Source
        var notices: [String] = []

        mutating func comments() async throws -> [TaskComment] {
            let before = polls.lastPoll.known
            let answer = try await polls.poll(source).0
            notices += answer.notices
            return answer.comments.filter { before[$0.task] != nil || polls.lastPoll.known[$0.task] != nil }
        }
    }

    func table(_ query: String = "active=true", page: Int64 = 1000) throws -> Observer {
        let settings = Settings([
            "table": "incident", "query": .string(query), "journal": ["comments", "work_notes"], "page": .int(page),
        ])
        return Observer(
            source: try TableSource(name: "incidents", settings: settings, connection: practice.connection(over: exchange)))
    }

    private func tracker() throws -> Observer {
        let settings = Settings(["journal": ["comments"]])
        return Observer(
            source: try TrackerSource(name: "my-work", settings: settings, connection: practice.connection(over: exchange)))
    }

    /// Abel Tuter comments on a task, and some seconds pass.
    func say(_ text: String, on task: SimulatedTask, passing seconds: Int) async {
        instance.addNote(text, on: task.id, by: "abel.tuter")
        await practice.clock.advance(by: .seconds(seconds))
    }

    @Test func `new entries are emitted once, with author and kind, and earlier entries are not`() async throws {
        let task = instance.addTask(title: "A")
        let stranger = instance.addTask("problem", title: "not watched")
        await say("old", on: task, passing: 10)
        var observer = try table()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(20))
        let first = instance.addNote("It smokes.", on: task.id, by: "abel.tuter")
        instance.addNote("On my way.", .workNotes, on: task.id, by: "john.doe")
        await say("elsewhere", on: stranger, passing: 10)
        let comments = try await observer.comments()
        #expect(Set(comments.map(\.text)) == ["It smokes.", "On my way."])
        let comment = try #require(comments.first { $0.text == "It smokes." })
        #expect(comment.id == first?.id)
        #expect(comment.author == "abel.tuter")
        #expect(comment.kind == "comments")
        #expect(comment.authorship == .others)
        #expect(comments.first { $0.text == "On my way." }?.authorship == .ours)
        for _ in 0..<3 {
            await practice.clock.advance(by: .seconds(60))
            #expect(try await observer.comments() == [])
        }
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .hidden])
    func `comments written with an API key are ours, although only the instance knows the key's user`(
        _ users: SimulatedUser.Reading
    ) async throws {
        let task = instance.addTask(title: "A")
        instance.addAPIKey("canary-key", of: "john.doe")
        instance.changeUser("john.doe") { $0.users = users }
        let settings = Settings(["instance": "http://127.0.0.1:9", "auth": ["api_key": "canary-key"]])
        let connection = try ServiceNowConnection(name: "snow", settings: settings, in: practice.environment(), over: exchange)
        let source = try TableSource(
            name: "incidents", settings: Settings(["table": "incident", "query": "active=true", "journal": ["comments"]]),
            connection: connection)
        var observer = Observer(source: source)
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(20))
        instance.addNote("ours", on: task.id, by: "john.doe")
        await say("another's", on: task, passing: 10)
        let comments = try await observer.comments()
        #expect(comments.count == 2)
        #expect(comments.first { $0.text == "ours" }?.authorship == (users == .hidden ? .unknown : .ours))
        // Our user is unknown, so only the texts that we wrote identify our entries.
        #expect(comments.first { $0.text == "another's" }?.authorship == (users == .hidden ? .unknown : .others))
    }

    @Test func `an entry that is committed late is reported`() async throws {
        let task = instance.addTask(title: "A")
        var observer = try table()
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(300))
        await say("now", on: task, passing: 30)
        #expect(try await observer.comments().map(\.text) == ["now"])
        instance.addNote("late", on: task.id, by: "abel.tuter", secondsAgo: 90)
        await practice.clock.advance(by: .seconds(1))
        #expect(try await observer.comments().map(\.text) == ["late"])
        #expect(try await observer.comments() == [])
    }

    @Test func `with many tasks, the query does not name them`() async throws {
        for number in 0..<50 { instance.addTask(title: "task \(number)") }
        var observer = try table()
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(60))
        for task in instance.tasks { instance.addNote("on \(task.number)", on: task.id, by: "abel.tuter") }
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.comments().count == 50)
        let queries = practice.simulation.requests.matching(path: "/api/now/v2/table/sys_journal_field")
        // The first request finds out whether the account may read entries of these tasks.
        let walk = queries.dropFirst()
        #expect(!walk.isEmpty && walk.allSatisfy { $0.parameter("sysparm_query")?.contains("element_id") == false })
    }

    @Test func `an account that cannot read the journal does not walk through the hidden entries of all tasks`() async throws {
        for number in 0..<50 { instance.addTask(title: "task \(number)") }
        let stranger = instance.addTask("problem", title: "not watched")
        instance.changeUser("john.doe") { $0.journal = .hidden }
        var observer = try table()
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(60))
        let task = try #require(instance.tasks.first)
        instance.addNote("It smokes.", on: task.id, by: "abel.tuter")
        for number in 0..<1500 { instance.addNote("elsewhere \(number)", on: stranger.id, by: "abel.tuter") }
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.comments().map(\.text) == ["It smokes."])
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/sys_journal_field") == 1)
    }

    @Test func `an empty page that contradicts the count fails the poll, and the next poll finds all entries`() async throws {
        let task = instance.addTask(title: "A")
        var observer = try table()
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(60))
        for number in 0..<1005 { instance.addNote("note \(number)", on: task.id, by: "abel.tuter") }
        await practice.clock.advance(by: .seconds(10))
        practice.simulation.faults.add(.emptyList, path: "/api/now/v2/table/sys_journal_field", skip: 1, times: 2)
        #expect(await failure { _ = try await observer.comments() }?.reason == .badAnswer)
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.comments().count == 1005)
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `if the journal cannot be read, the tasks' histories are read`(_ access: SimulatedUser.Reading) async throws {
        let task = instance.addTask(title: "A", assignedTo: "john.doe")
        instance.changeUser("john.doe") {
            $0.journal = access
            $0.utcOffset = 120
        }
        await say("old", on: task, passing: 600)
        for isTracker in [false, true] {
            var observer = try isTracker ? tracker() : table()
            #expect(try await observer.comments() == [])
            await practice.clock.advance(by: .seconds(60))
            await say("It smokes.\n\nStill.", on: task, passing: 10)
            let comments = try await observer.comments()
            #expect(comments.map(\.text) == ["It smokes.\n\nStill."])
            #expect(comments.map(\.author) == ["Abel Tuter"])
            #expect(observer.notices.first?.contains("may not read") == true)
            await practice.clock.advance(by: .seconds(60))
            #expect(try await observer.comments() == [])
            await practice.clock.advance(by: .seconds(600))
        }
    }

    @Test func `in histories, an entry from the second of the last change is reported too, however late its commit`() async throws
    {
        let task = instance.addTask(title: "A")
        instance.changeUser("john.doe") { $0.journal = .hidden }
        var observer = try table()
        _ = try await observer.comments()
        await practice.clock.advance(by: .seconds(600))
        await say("first", on: task, passing: 10)
        #expect(try await observer.comments().map(\.text) == ["first"])
        // Then only the row's modification count differs.
        instance.addNote("second", on: task.id, by: "abel.tuter", secondsAgo: 10)
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.comments().map(\.text) == ["second"])
    }

    @Test(arguments: [false, true])
    func `entries are reported once even if they are read another way after a restart`(_ beginsWithJournal: Bool) async throws {
        let tasks = (0..<3).map { instance.addTask(title: "task \($0)") }
        instance.changeUser("john.doe") {
            $0.journal = beginsWithJournal ? .allowed : .hidden
            $0.utcOffset = 60
        }
        var observer = try table()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(300))
        for task in tasks { instance.addNote("on \(task.number)", on: task.id, by: "abel.tuter") }
        await say("the same", on: tasks[0], passing: 10)
        #expect(try await observer.comments().count == 4)
        // From here on they are read another way, with other ids for all of them.
        for access in beginsWithJournal ? [SimulatedUser.Reading.hidden, .allowed] : [.allowed, .hidden] {
            instance.changeUser("john.doe") { $0.journal = access }
            let lastPoll = observer.polls.lastPoll
            observer = try table()
            observer.polls.lastPoll = lastPoll
            for task in tasks { instance.touchTask(task.id) }
            await practice.clock.advance(by: .seconds(6))
            #expect(try await observer.comments().map(\.text) == [])
            await say("the same", on: tasks[0], passing: 6)
            #expect(try await observer.comments().map(\.text) == ["the same"])
            #expect(try await observer.comments() == [])
        }
    }

    @Test func `an entry on a task that appeared since the last poll is reported, however long ago that poll was`() async throws {
        instance.addTask(title: "A")
        var observer = try table()
        _ = try await observer.comments()
        for (number, wait) in [600, 3600].enumerated() {
            await practice.clock.advance(by: .seconds(wait))
            let new = instance.addTask(title: "B")
            await say("number \(number)", on: new, passing: wait)
            #expect(try await observer.comments().map(\.text) == ["number \(number)"])
            #expect(try await observer.comments() == [])
            // After a restart.
            let lastPoll = observer.polls.lastPoll
            observer = try table()
            observer.polls.lastPoll = lastPoll
        }
    }

    @Test func `a tracker reports new entries in its tasks' journals`() async throws {
        let task = instance.addTask(title: "A", assignedTo: "john.doe")
        var observer = try tracker()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(60))
        instance.addNote("It smokes.", on: task.id, by: "abel.tuter")
        instance.addNote("internal", .workNotes, on: task.id, by: "abel.tuter")
        await practice.clock.advance(by: .seconds(10))
        #expect(try await observer.comments().map(\.text) == ["It smokes."])
        #expect(try await observer.comments() == [])
    }
}
