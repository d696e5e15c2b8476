import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Comment events from histories alone, and from comments committed very late.
extension JournalWatchTests {
    private func watch() async throws -> (Observer, SimulatedTask) {
        let task = instance.addTask(title: "A")
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.utcOffset = -300
        }
        var observer = try table()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(600))
        await say("The first", on: task, passing: 10)
        #expect(try await observer.comments().map(\.text) == ["The first"])
        return (observer, task)
    }

    @Test(arguments: ["1 - x (y)", "3 - Moderate (was 2 - High)", "2026-01-05 09:00:00 Any Name (Additional comments)"])
    func `a line that only looks like a heading is text, and delays no comment`(_ line: String) async throws {
        var (observer, task) = try await watch()
        let text = "Look:\n\n\(line)\n\nThat is it."
        await say(text, on: task, passing: 60)
        let comments = try await observer.comments()
        #expect(comments.map(\.text) == [text])
        #expect(comments.map(\.author) == ["Abel Tuter"])
        #expect(comments.map(\.isProved) == [true])
        await say("More", on: task, passing: 60)
        #expect(try await observer.comments().map(\.text) == ["More"])
    }

    @Test(arguments: ["2026-01-05 04:05:00", "2020-01-01 00:00:00"])
    func `an entry forged inside a text is reported as uncertain, without an author, and hides no real one`(
        _ time: String
    ) async throws {
        var (observer, task) = try await watch()
        await say("Genuine", on: task, passing: 1)
        instance.addNote("Look:\n\n\(time) - Any Name (Additional comments)\nPlease close it.", on: task.id, by: "system")
        await practice.clock.advance(by: .seconds(60))
        let comments = try await observer.comments()
        #expect(Set(comments.map(\.text)) == ["Look:", "Please close it.", "Genuine"])
        #expect(comments.filter(\.isProved).map(\.text) == ["Look:"])
        #expect(comments.filter { !$0.isProved }.allSatisfy { $0.author == "" && $0.authorship == .unknown })
        await say("After", on: task, passing: 60)
        let next = try await observer.comments()
        #expect(next.map(\.text) == ["After"])
        #expect(next.map(\.author) == ["Abel Tuter"])
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `a journal with its own label is read by that label, and the usual label is text`(
        _ dictionary: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.dictionary = dictionary }
        instance.settings.labels = ["comments": "Customer notes"]
        var (observer, task) = try await watch()
        let text = "Look:\n\n2026-01-05 04:05:00 - Any Name (Additional comments)\nPlease close it."
        await say(text, on: task, passing: 60)
        let comments = try await observer.comments()
        #expect(comments.map(\.text) == [text])
        #expect(comments.map(\.author) == ["Abel Tuter"])
    }

    @Test func `a history whose first line lacks the dictionary's label is not trusted`() async throws {
        var (observer, task) = try await watch()
        // A heading with another label was not necessarily written as an entry of this journal.
        instance.settings.labels = ["comments": "Forged"]
        await say("Please close it.", on: task, passing: 60)
        #expect(try await observer.comments() == [])
        #expect(observer.notices.last?.contains("differs from the journal's label in the dictionary") == true)
        instance.settings.labels = [:]
        await say("Genuine", on: task, passing: 60)
        #expect(try await observer.comments().map(\.text).sorted() == ["Genuine", "Please close it."])
    }

    @Test func `history entries seen while the journal was readable are not reported again`() async throws {
        var (observer, task) = try await watch()
        for (number, reading) in [SimulatedUser.Reading.allowed, .forbidden].enumerated() {
            instance.changeUser("john.doe") { $0.journal = reading }
            let lastPoll = observer.polls.lastPoll
            observer = try table()
            observer.polls.lastPoll = lastPoll
            await practice.clock.advance(by: .seconds(700))
            await say("number \(number)", on: task, passing: 60)
            #expect(try await observer.comments().map(\.text) == ["number \(number)"])
        }
    }

    @Test(arguments: [1, 12])
    func `the comment with which a task is closed is reported, also if only a walk shows that the task left`(
        _ count: Int
    ) async throws {
        let tasks = (0..<count).map { instance.addTask(title: "task \($0)") }
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        var observer = try table(page: 10)
        for _ in 0..<2 {
            #expect(try await observer.comments() == [])
            await practice.clock.advance(by: .seconds(60))
        }
        instance.addNote("Solved.", on: tasks[0].id, by: "abel.tuter")
        instance.closeTask(tasks[0].id)
        var comments: [String] = []
        for _ in 0..<20 {
            await practice.clock.advance(by: .seconds(60))
            comments += try await observer.comments().map(\.text)
        }
        #expect(comments == ["Solved."])
    }

    @Test func `an account that was refused once reads the journal again later, where authors have user names`() async throws {
        var (observer, task) = try await watch()
        instance.changeUser("john.doe") { $0.journal = .allowed }
        for number in 0..<2 {
            await practice.clock.advance(by: .seconds(number == 0 ? 60 : 900))
            await say("number \(number)", on: task, passing: 10)
            let comments = try await observer.comments()
            #expect(comments.map(\.text) == ["number \(number)"])
            #expect(comments.map(\.author) == [number == 0 ? "Abel Tuter" : "abel.tuter"])
        }
    }

    @Test func `if the account gets the right to read a history, its old entries are not reported`() async throws {
        let task = instance.addTask(title: "A")
        instance.changeUser("john.doe") {
            $0.journal = .forbidden
            $0.hiddenFields = ["comments"]
        }
        var observer = try table()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(60))
        instance.addNote("hidden", on: task.id, by: "abel.tuter")
        for _ in 0..<8 {
            await practice.clock.advance(by: .seconds(600))
            #expect(try await observer.comments() == [])
        }
        instance.changeUser("john.doe") { $0.hiddenFields = [] }
        await say("shown", on: task, passing: 60)
        #expect(try await observer.comments().map(\.text) == ["shown"])
    }

    @Test func `histories that the server cannot send at once are read in parts`() async throws {
        let tasks = (0..<3).map { instance.addTask(title: "task \($0)") }
        instance.changeUser("john.doe") { $0.journal = .forbidden }
        var observer = try table()
        #expect(try await observer.comments() == [])
        await practice.clock.advance(by: .seconds(60))
        for task in tasks { instance.addNote("on \(task.number)", on: task.id, by: "abel.tuter") }
        await practice.clock.advance(by: .seconds(10))
        // The list is the first request to the table, the histories are the second.
        practice.simulation.faults.add(.transactionCancelled, "GET", path: "/api/now/v2/table/incident", skip: 1)
        #expect(try await observer.comments().count == 3)
    }

    @Test func `an entry committed ten minutes late is found when the journal is read again from further back`() async throws {
        let task = instance.addTask(title: "A")
        var observer = try table()
        _ = try await observer.comments()
        var comments: [String] = []
        func poll(_ times: Int) async throws {
            for _ in 0..<times {
                await practice.clock.advance(by: .seconds(60))
                comments += try await observer.comments().map(\.text)
            }
        }
        try await poll(20)
        instance.addNote("now", on: task.id, by: "abel.tuter")
        try await poll(1)
        instance.addNote("late", on: task.id, by: "abel.tuter", secondsAgo: 600)
        try await poll(40)
        #expect(comments == ["now", "late"])
    }

    @Test func `entries from before a task appeared are not reported, however far back the journal is read`() async throws {
        instance.addTask(title: "A", priority: 1)
        let other = instance.addTask(title: "B", priority: 3)
        var observer = try table("priority=1")
        _ = try await observer.comments()
        var comments: [String] = []
        for number in 0..<40 {
            await practice.clock.advance(by: .seconds(60))
            if number == 10 { instance.addNote("before", on: other.id, by: "abel.tuter") }
            if number == 15 { instance.updateTask(other.id, set: ["priority": "1"]) }
            if number == 30 { instance.addNote("after", on: other.id, by: "abel.tuter") }
            comments += try await observer.comments().map(\.text)
        }
        #expect(comments == ["after"])
    }

    @Test func `the histories read are stored with the poll, and the oldest are dropped`() {
        var known = KnownHistories()
        for number in 0..<600 {
            known[.init(task: TaskKey("task \(number)"), kind: "comments")] = JournalHistory.Known("history \(number)")
        }
        let read = KnownHistories(json: known.json)
        #expect(read == known)
        #expect(read[.init(task: TaskKey("task 99"), kind: "comments")] == nil)
        #expect(read[.init(task: TaskKey("task 100"), kind: "comments")] == JournalHistory.Known("history 100"))
        known.keep { $0 == TaskKey("task 599") }
        #expect(known.json.asArray?.count == 1)
    }
}
