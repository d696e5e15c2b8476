import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Lists of a table without rows, although the server's count is not zero.
@Suite struct HiddenRowsTests {
    let practice = Practice()
    let exchange: InProcessExchange
    var instance: SimulatedInstance { practice.instance }

    init() { exchange = InProcessExchange(practice.simulation) }

    private func source() throws -> TableSource {
        try TableSource(
            name: "incidents", settings: Settings(["table": "incident", "query": "active=true"]),
            connection: practice.connection(over: exchange))
    }

    private func hide(_ tasks: [SimulatedTask]) {
        instance.changeUser("john.doe") { $0.hiddenTasks = Set(tasks.map(\.id)) }
    }

    @Test(arguments: [1, 15, 60])
    func `a page without the counted rows is an error, and removes nothing`(_ count: Int) async throws {
        for number in 0..<count { instance.addTask(title: "task \(number)") }
        let source = try source()
        var observer = TableObserver()
        _ = try await observer.poll(source)
        practice.simulation.faults.add(.emptyListCounted, "GET", path: "/api/now/v2/table/incident")
        let failure = await failure { _ = try await observer.poll(source) }
        #expect(failure?.reason == .badAnswer && failure?.remedy == .retry(after: nil))
        #expect(failure?.message.contains("counts \(count) row") == true, "\(failure?.message ?? "")")
        #expect(failure?.message.contains("X-Total-Count") == true)
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.listing.entries.count == count || answer.coverage == .same)
        #expect(comparison.isEmpty)
    }

    @Test func `if all counted rows and all records are hidden, every poll fails`() async throws {
        let tasks = (0..<3).map { instance.addTask(title: "task \($0)") }
        let source = try source()
        var observer = TableObserver()
        _ = try await observer.poll(source)
        hide(tasks)
        for _ in 0..<10 {
            await practice.clock.advance(by: .seconds(600))
            #expect(await failure { _ = try await observer.poll(source) }?.reason == .badAnswer)
        }
    }

    @Test func `rows that stay hidden are accepted once the records show that all tasks have left`() async throws {
        let tasks = (0..<5).map { instance.addTask(title: "task \($0)") }
        hide(Array(tasks[2...]))
        let source = try source()
        var observer = TableObserver()
        _ = try await observer.poll(source)
        for task in tasks[..<2] { instance.closeTask(task.id) }
        let (answer, comparison) = try await observer.poll(source)
        #expect(comparison.gone.count == 2)
        #expect(answer.notices.contains { $0.contains("access rules hide them") })
        let details = try await source.details(of: comparison.gone, in: answer.listing)
        #expect(Set(details.departures.values) == [.closed])
    }

    @Test func `a first list whose counted rows are all hidden is an error for five minutes`() async throws {
        hide((0..<3).map { instance.addTask(title: "task \($0)") })
        let source = try source()
        var observer = TableObserver()
        for _ in 0..<5 {
            #expect(await failure { _ = try await observer.poll(source) }?.reason == .badAnswer)
            await practice.clock.advance(by: .seconds(60))
        }
        let (answer, _) = try await observer.poll(source)
        #expect(answer.coverage == .whole && answer.listing.entries.isEmpty)
        #expect(answer.notices.contains { $0.contains("counts 3 rows") })
        // From then on it has no effect: a row that becomes visible is new.
        instance.addTask(title: "seen")
        #expect(try await observer.changes(in: source).count == 1)
    }

    @Test func `a table whose count is zero is empty`() async throws {
        let source = try source()
        var observer = TableObserver()
        let (answer, _) = try await observer.poll(source)
        #expect(answer.coverage == .whole && answer.notices.isEmpty)
    }
}
