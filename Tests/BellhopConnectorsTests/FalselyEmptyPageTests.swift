import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Empty pages in the middle of a list whose other rows exist, read by a poller with a store.
@Suite(.closing) struct `A falsely empty page in the middle of a list` {
    /// A poller of a source, and the events it stores.
    private struct Watch {
        let store: any Store
        var poller: Poller

        init(_ source: any Source, clock: TestClock) throws {
            store = try Stores.inMemory()
            let signals = Signals()
            poller = Poller(
                source, plan: PollPlan(cadence: .every(.seconds(60))),
                in: EngineContext(store: store, clock: clock, signals: signals, random: { 0.5 }))
        }

        func events() async throws -> [String] {
            try await store.events(EventQuery(limit: 1000)).map { stored in
                "\(stored.event.type.name) \(stored.event.task?.title ?? "")".trimmed
            }
        }
    }

    // MARK: A table

    private let practice = Practice()
    private let times = TableTimes(overlap: .seconds(120), lag: .seconds(5), reconcile: .seconds(900), few: 0)
    private static let path = "/api/now/v2/table/incident"

    private func incidents(_ exchange: InProcessExchange, page: Int = 5) throws -> TableSource {
        var settings = try TableSettings(Settings(["table": "incident", "query": "active=true"]), source: "incidents")
        settings.times = times
        settings.page = page
        return try TableSource(name: "incidents", settings: settings, connection: practice.connection(over: exchange))
    }

    @Test(arguments: 1...5)
    func `an empty page that comes twice and contradicts the count fails the poll`(_ skip: Int) async throws {
        for number in 0..<28 { practice.instance.addTask(title: "task \(number)") }
        var watch = try Watch(incidents(InProcessExchange(practice.simulation)), clock: practice.clock)
        practice.simulation.faults.add(.emptyList, "GET", path: Self.path, skip: skip, times: 2)
        guard case .failed(let failure) = try await watch.poller.pollOnce() else { Issue.record("the poll did not fail"); return }
        #expect(failure.reason == .badAnswer && failure.remedy == .retry(after: nil))
        #expect(failure.message.contains("then answered twice with an empty page that counts none"))
        await practice.clock.advance(by: .seconds(60))
        guard case .baseline(28) = try await watch.poller.pollOnce() else { Issue.record("no baseline of 28"); return }
        #expect(try await watch.events() == [])
    }

    @Test func `an empty page ends the list if all rows after it have left`() async throws {
        for number in 0..<28 { practice.instance.addTask(title: "task \(number)") }
        let sorted = practice.instance.tasks.map(\.id).sorted()
        let exchange = InProcessExchange(practice.simulation)
        var watch = try Watch(incidents(exchange), clock: practice.clock)
        let instance = practice.instance
        exchange.interrupt { request in
            guard request.address.target.contains("sys_id%3E\(sorted[24])") else { return }
            for id in sorted[25...] { instance.deleteTask(id) }
        }
        guard case .baseline(25) = try await watch.poller.pollOnce() else { Issue.record("no baseline of 25"); return }
    }

    /// Without a count, only the tasks' own records contradict the empty page; with a count, it looks like a page whose rows are
    /// hidden by access rules.
    @Test(arguments: [false, true])
    func `an empty page that only the rows' records contradict removes no row, and the list is read again`(
        _ isCounted: Bool
    ) async throws {
        for number in 0..<28 { practice.instance.addTask(title: "task \(number)") }
        let sorted = practice.instance.tasks.map(\.id).sorted()
        let faults = practice.simulation.faults
        if !isCounted {
            faults.add(.uncounted, times: nil)
            faults.add(.forbidden, "GET", path: "/api/now/v1/stats", times: nil)
        }
        // The window after the baseline starts before the latest time of these rows, and after all others.
        await practice.clock.advance(by: .seconds(600))
        practice.instance.touchTask(sorted[0])
        await practice.clock.advance(by: .seconds(60))
        var watch = try Watch(incidents(InProcessExchange(practice.simulation)), clock: practice.clock)
        guard case .baseline(28) = try await watch.poller.pollOnce() else { Issue.record("no baseline of 28"); return }
        await practice.clock.advance(by: .seconds(901))
        // A change without a new timestamp is found only by reading all rows.
        practice.instance.setTask(sorted[isCounted ? 17 : 26], to: ["short_description": "changed without a stamp"])
        faults.add(isCounted ? .emptyListCounted : .emptyList, "GET", path: Self.path, skip: isCounted ? 3 : 4)
        _ = try await watch.poller.pollOnce()
        #expect(try await watch.events() == [])
        await practice.clock.advance(by: .seconds(60))
        _ = try await watch.poller.pollOnce()
        #expect(try await watch.events() == ["task_changed changed without a stamp"])
    }

    // MARK: A rest list

    private struct Way: Sendable, CustomTestStringConvertible {
        var settings: JSON.Object
        /// The query of the request for the third page.
        var third: String
        var testDescription: String { third }
    }

    private static let numbered = Way(
        settings: [
            "path": "page", "items": "items", "title": "title",
            "paging": ["by": "page", "size": 4, "size_parameter": "per_page"],
        ], third: "&page=3")
    private static let named = [
        Way(
            settings: ["path": "link", "title": "title", "paging": ["by": "link", "size": 4, "size_parameter": "per_page"]],
            third: "&page=3"),
        Way(
            settings: [
                "path": "cursor", "items": "data.items", "title": "title",
                "paging": ["by": "cursor", "next": "next", "size": 4, "size_parameter": "limit"],
            ], third: "cursor=c8"),
    ]

    private func polling(_ way: Way) async throws -> (Watch, WebPractice) {
        let practice = WebPractice()
        for number in 1...23 { practice.api.add("issue \(number)") }
        return (try Watch(try await practice.source(way.settings), clock: practice.clock), practice)
    }

    private func empty(_ way: Way, _ practice: WebPractice, times: Int? = nil) {
        practice.simulation.faults.add(FaultRule(.emptyList, query: way.third, times: times))
    }

    @Test func `with numbered pages, an empty page followed by items fails the poll`() async throws {
        var (watch, practice) = try await polling(Self.numbered)
        empty(Self.numbered, practice)
        guard case .failed(let first) = try await watch.poller.pollOnce() else { Issue.record("no failure"); return }
        #expect(first.message.contains("one of its pages was empty, although there are more items behind it"))
        practice.simulation.faults.removeAll()
        _ = try await watch.poller.pollOnce()
        empty(Self.numbered, practice)
        guard case .failed = try await watch.poller.pollOnce() else { Issue.record("the poll did not fail"); return }
        practice.simulation.faults.removeAll()
        _ = try await watch.poller.pollOnce()
        #expect(try await watch.events() == [])
    }

    @Test(arguments: named)
    private func `an empty page that has items a moment later fails the first poll`(_ way: Way) async throws {
        var (watch, practice) = try await polling(way)
        empty(way, practice, times: 1)
        guard case .failed = try await watch.poller.pollOnce() else { Issue.record("the poll did not fail"); return }
        guard case .baseline(23) = try await watch.poller.pollOnce() else { Issue.record("no baseline of 23"); return }
    }

    @Test(arguments: named)
    private func `items behind an empty page leave once they are missing for five minutes`(_ way: Way) async throws {
        var (watch, practice) = try await polling(way)
        _ = try await watch.poller.pollOnce()
        // The items after the page are fewer than half, so that not only their number holds the result.
        for number in 13...23 where number % 4 != 0 { practice.api.remove(number) }
        _ = try await watch.poller.pollOnce()
        let before = try await watch.events().count
        empty(way, practice)
        for _ in 0..<5 {
            guard case .held = try await watch.poller.pollOnce() else { Issue.record("the result was not held"); return }
            await practice.clock.advance(by: .seconds(60))
        }
        practice.simulation.faults.removeAll()
        _ = try await watch.poller.pollOnce()
        #expect(try await watch.events().dropFirst(before) == ["source_held"])
        empty(way, practice)
        for _ in 0..<6 {
            _ = try await watch.poller.pollOnce()
            await practice.clock.advance(by: .seconds(60))
        }
        let removed = try await watch.events().dropFirst(before).filter { $0.hasPrefix("task_removed") }
        #expect(removed.count == 6)
    }

    @Test func `an item that leaves a numbered list is reported at once`() async throws {
        var (watch, practice) = try await polling(Self.numbered)
        _ = try await watch.poller.pollOnce()
        practice.api.remove(5)
        guard case .changed(1) = try await watch.poller.pollOnce() else { Issue.record("not removed at once"); return }
    }
}

extension String { fileprivate var trimmed: String { hasSuffix(" ") ? String(dropLast()) : self } }
