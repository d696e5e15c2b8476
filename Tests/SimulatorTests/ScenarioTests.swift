import BellhopTesting
import Synchronization
import Testing

@testable import Simulator

@Suite(.closing) struct ScenarioTests {
    @Test func `each change of a script happens once, in order and at its time`() {
        var scenario = Scenario([
            .init(at: 30, .deleted(task: "c")), .init(at: 10, .deleted(task: "a")), .init(at: 10, .deleted(task: "b")),
        ])
        #expect(scenario.tick(to: 9) == [])
        #expect(scenario.tick(to: 10) == [.deleted(task: "a"), .deleted(task: "b")])
        #expect(scenario.nextTime == 30)
        #expect(scenario.tick(to: 100) == [.deleted(task: "c")])
        #expect(scenario.nextTime == nil)
    }

    @Test func `playing a script ends after its last change`() async throws {
        let office = Office()
        let task = NewTask(title: "A", sysID: "a")
        try await office.simulation.play(Scenario([.init(at: 0, .opened(task)), .init(at: 1, .closed(task: "a", by: "x"))]))
        #expect(office.instance.tasks.map(\.isActive) == [false])
    }

    @Test func `before each moment of a script, playing waits until the audience is ready`() async throws {
        let office = Office()
        let task = NewTask(title: "A", sysID: "a")
        let script = Scenario([.init(at: 0, .opened(task)), .init(at: 1, .closed(task: "a", by: "x"))])
        let asked = Mutex(0)
        let happened = Mutex<[Int]>([])
        try await office.simulation.play(
            script, pause: .milliseconds(1),
            report: { scene in if case .happened = scene { happened.withLock { $0.append(asked.withLock { $0 }) } } },
            isReady: {
                asked.withLock { count in
                    count += 1
                    return count.isMultiple(of: 3)
                }
            })
        #expect(happened.withLock { $0 } == [3, 6])
        #expect(office.instance.tasks.map(\.isActive) == [false])
    }

    @Test func `the demonstration starts with two tasks and ends with a P1 closed`() throws {
        let office = Office()
        office.instance.addPeople()
        var scenario = Scenario.demo(for: "john.doe", from: office.clock.now)
        for happening in scenario.tick(to: office.clock.now) { office.instance.apply(happening) }
        #expect(office.instance.tasks.map(\.table) == ["incident", "sc_task"])
        #expect(office.instance.tasks.first?["sys_created_on"] == "2026-01-02 09:00:00")
        var titles: [String] = []
        for _ in 0..<30 {
            office.clock.advance(seconds: 60)
            for happening in scenario.tick(to: office.clock.now) { office.instance.apply(happening) }
            titles = office.instance.tasks.map(\.title)
        }
        #expect(titles.contains(Scenario.hostileTitle))
        #expect(scenario.nextTime == nil)
        let mail = try #require(office.instance.tasks.first { $0.priority == 1 })
        #expect(!mail.isActive && mail.assignedTo == office.instance.user("john.doe")?.id)
        #expect(office.instance.tasks.first?.priority == 2)
    }

    @Test func `an office has a plausible week, which depends only on the seed`() {
        func week(_ seed: UInt64, steps: Int64) -> [ScenarioEvent] {
            let start = VirtualClock.monday
            var scenario = Scenario.everyday(for: "me", among: ["abel", "beth"], from: start, seed: seed)
            return (1...steps).flatMap { scenario.tick(to: start + $0 * (7 * CivilTime.day / steps)) }
        }
        let happenings = week(1, steps: 7)
        #expect(happenings == week(1, steps: 7))
        #expect(happenings == week(1, steps: 70))
        #expect(happenings != week(2, steps: 7))
        let opened = happenings.compactMap { if case .opened(let task) = $0 { task } else { nil } }
        #expect((150...600).contains(opened.count))
        let mine = opened.filter { $0.assignedTo == "me" }.count
        #expect(mine > opened.count / 5)
        #expect(opened.contains { $0.assignedTo == nil })
    }

    @Test func `practice starts with two tasks and continues, at any hour of the week`() {
        for hour in stride(from: Int64(0), to: 7 * 24, by: 5) {
            let start = 1_767_225_600_000_000 + hour * 3_600_000_000
            var scenario = Scenario.practice(for: "john.doe", among: ["abel.tuter"], from: start, seed: UInt64(hour))
            let first = scenario.tick(to: start)
            #expect(first.count == 2)
            let later = scenario.tick(to: start + 3 * 3_600_000_000)
            #expect(later.count > 10)
        }
    }

    @Test func `a new watcher sees a change and a new task within seconds, each announced beforehand`() async throws {
        let office = Office()
        let people = office.instance.addPeople()
        let scenes = Mutex<[Simulation.PlayReport]>([])
        let waitUntil = { @Sendable (wanted: @Sendable ([Simulation.PlayReport]) -> Bool) async throws in
            for _ in 0..<2000 where !scenes.withLock({ wanted($0) }) { try await Task.sleep(for: .milliseconds(5)) }
        }
        let scenario = Scenario.practice(for: "john.doe", among: people, from: office.clock.now, tasksPerHour: 0.01, seed: 1)
        let simulation = office.simulation
        let playing = Task {
            try await simulation.play(scenario, pause: .milliseconds(1)) { scene in scenes.withLock { $0.append(scene) } }
        }
        defer { playing.cancel() }
        try await waitUntil { $0.count { if case .happened = $0 { true } else { false } } == 2 }
        #expect(office.instance.tasks.count == 2)
        for round in 1...2 {
            scenes.withLock { $0 = [] }
            var client = try await office.open()
            _ = try await client.get("/api/now/v2/table/sys_user?sysparm_limit=1")
            #expect(office.instance.counts.watchers == round - 1)
            for _ in 0..<3 { #expect(try await client.list().status == 200) }
            #expect(office.instance.counts.watchers == round)
            try await waitUntil {
                $0.contains(.watched) && $0.contains { if case .comes(.changed, 5_000_000) = $0 { true } else { false } }
            }
            office.clock.advance(seconds: 5)
            try await waitUntil { $0.contains { if case .comes(.opened, 7_000_000) = $0 { true } else { false } } }
            office.clock.advance(seconds: 7)
            try await waitUntil { $0.contains { if case .happened(.opened) = $0 { true } else { false } } }
            #expect(office.instance.tasks.first?.priority == (round == 1 ? 2 : 3))
            #expect(office.instance.tasks.count == 2 + round)
            #expect(office.instance.tasks.last?.assignedTo == office.instance.user("john.doe")?.id)
        }
    }
}
