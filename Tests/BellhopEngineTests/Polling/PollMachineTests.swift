import BellhopCore
import Testing

@testable import BellhopEngine

@Suite struct `The poll machine` {
    private static let start = Timestamp(seconds: 1_767_603_600)
    private static let failure = Failure(.gateway, .retry(after: nil), "502")

    /// A machine of a source with these tasks, after its first poll.
    private static func baseline(_ keys: [TaskKey], hidesChanges: Bool = false) -> PollMachine {
        let source = DeclaredSource(hidesChanges: hidesChanges)
        var machine = PollMachine(source, plan: .minutely)
        _ = machine.begin(at: .init(now: start - .seconds(600)))
        let definitions = FieldDefinitions().updated(to: source.definitions)
        var memory = SourceMemory(hasBaseline: true, definitions: definitions, known: KnownTasks())
        let answer = Answer(tasks: keys)
        memory.answer = answer.fingerprint
        for entry in answer.listing.entries {
            memory.known.set(
                KnownTask(
                    key: entry.key, listed: entry.fingerprint, content: SnapshotText(task(entry.key.text)).fingerprint,
                    refreshed: start - .seconds(600)))
        }
        memory.health.lastSuccess = start - .seconds(600)
        _ = machine.received(.opened(memory), at: .init(now: start - .seconds(600)))
        return machine
    }

    /// The steps of one poll with these results.
    private static func steps(
        _ machine: inout PollMachine, at now: Timestamp = start, rest: ReceiverStop? = nil, _ results: PollMachine.Result...
    ) -> [String] {
        let moment = PollMachine.Moment(now: now, rest: rest)
        var steps = [machine.begin(at: moment)]
        for result in results { steps.append(machine.received(result, at: moment)) }
        return steps.map(\.words)
    }

    private static let some: [TaskKey] = ["a", "b", "c"]

    @Test func `a first poll opens the store, lists, reads the details and commits`() {
        var machine = PollMachine(DeclaredSource(), plan: .minutely)
        let steps = Self.steps(
            &machine, .opened(SourceMemory(known: KnownTasks())), .listed(Answer(tasks: Self.some)),
            .details(Details(tasks: Self.some)), .committed(.committed(turn: 1, newEvents: 0)))
        #expect(steps == ["open", "list", "details a b c", "commit +3 -0 0 events", "end baseline(tasks: 3)"])
        #expect(machine.memory.turn == 1)
    }

    @Test(
        arguments: [
            ("the same answer", [.listed(Answer(tasks: some))], ["list", "end unchanged"]),
            (
                "a new task", [.listed(Answer(tasks: some + ["d"])), .details(Details(tasks: ["d"])), .loaded(.init()), done],
                ["list", "details d", "load d", "commit +1 -0 1 events", "end changed(events: 1)"]
            ),
            (
                "a task that left",
                [.listed(Answer(tasks: ["a", "b"])), .details(Details()), .loaded(.init(tasks: ["c"])), done],
                ["list", "details c", "load c", "commit +0 -1 1 events", "end changed(events: 1)"]
            ),
            (
                "a task that a listing lacks although it is there",
                [.listed(Answer(tasks: ["a", "b"])), .details(Details(remaining: ["c"])), done],
                ["list", "details c", "commit +0 -0 0 events", "end unchanged"]
            ),
            (
                "a task that a partial listing lacks", [.listed(Answer(tasks: ["a", "b"], coverage: .part)), done],
                ["list", "commit +0 -0 0 events", "end unchanged"]
            ),
            (
                "a commit after another process's", [.listed(Answer(tasks: ["b", "a", "c"])), .committed(.superseded)],
                ["list", "commit +0 -0 0 events", "end superseded"]
            ),
            ("a failed list", [.failed(failure), .stored], ["list", "store 1 failures", "end failed"]),
            (
                "failed details", [.listed(Answer(tasks: some + ["d"])), .failed(failure), .stored],
                ["list", "details d", "store 1 failures", "end failed"]
            ),
        ] as [(String, [PollMachine.Result], [String])])
    func `the machine answers each result with the next step`(
        _ what: String, _ results: [PollMachine.Result], _ expected: [String]
    ) {
        var machine = Self.baseline(Self.some)
        var steps = [machine.begin(at: .init(now: Self.start))]
        for result in results { steps.append(machine.received(result, at: .init(now: Self.start))) }
        #expect(steps.map(\.words) == expected)
    }

    private static let done = PollMachine.Result.committed(.committed(turn: 1, newEvents: 0))

    @Test func `an empty list that was held while the clock was ahead is accepted five minutes after the clock is set back`() {
        var machine = Self.baseline(Self.some)
        let empty = PollMachine.Result.listed(Answer(tasks: []))
        let gone = PollMachine.Result.details(Details())
        let loaded = PollMachine.Result.loaded(.init(tasks: Self.some))
        let ahead = Self.steps(&machine, at: Self.start + .days(365), empty, empty, gone, loaded, .stored)
        #expect(ahead.last == "end held")
        #expect(Self.steps(&machine, empty, gone, loaded, .stored).last == "end held")
        #expect(machine.nextPoll(after: Self.start + .seconds(290), jitter: 0.5) == Self.start + .seconds(300))
        let late = Self.steps(&machine, at: Self.start + .seconds(300), empty, gone, loaded, Self.done)
        #expect(late.suffix(2) == ["commit +0 -3 3 events", "end changed(events: 3)"])
    }

    @Test func `a source that failed while the clock was ahead counts as failing since the clock is set back`() {
        var machine = Self.baseline(Self.some)
        _ = Self.steps(&machine, at: Self.start + .days(365), .failed(Self.failure), .stored)
        #expect(Self.steps(&machine, .failed(Self.failure), .stored).last == "end failed")
        #expect(machine.failingSince == Self.start)
    }

    @Test func `the time of a success is stored again after the clock was set back`() {
        var machine = Self.baseline(Self.some)
        let now = Self.start - .days(1)
        #expect(Self.steps(&machine, at: now, .listed(Answer(tasks: Self.some))).last == "end unchanged")
        #expect(machine.unstoredSuccess(olderThan: .seconds(600))?.lastSuccess == now)
    }

    @Test func `an answer without a fingerprint is compared, also after another one without`() {
        var machine = Self.baseline(Self.some)
        machine.memory.answer = .zero
        var answer = Answer(tasks: Self.some, title: { $0 == "a" ? "printer is out" : "printer on fire" })
        answer.fingerprint = .zero
        #expect(Self.steps(&machine, .listed(answer)) == ["list", "details a"])
    }

    @Test func `an answer is compared, although it is the same, when a field has been redefined`() {
        var machine = Self.baseline(Self.some)
        machine.memory.definitions = FieldDefinitions().updated(to: ["priority": "int urgency"])
        guard case .list(let lastPoll) = machine.begin(at: .init(now: Self.start)) else { return #expect(Bool(false), "no list") }
        #expect(lastPoll.answer == nil)
        #expect(Self.steps(&machine, .listed(Answer(tasks: Self.some))) == ["list", "commit +0 -0 0 events"])
    }

    @Test func `a resting connection is not polled before its time`() {
        var machine = Self.baseline(Self.some)
        let rest = ReceiverStop(
            receiver: "snow", cause: .rest, since: Self.start, until: Self.start + .seconds(500), interval: .zero, reason: "429")
        #expect(Self.steps(&machine, rest: rest) == ["end failed"])
        #expect(machine.nextPoll(after: Self.start, jitter: 0) == rest.until)
        #expect(machine.memory.health.failures == 0)
    }

    @Test func `old details are read again, also of unchanged tasks`() {
        var machine = Self.baseline(Self.some, hidesChanges: true)
        let steps = Self.steps(&machine, .listed(Answer(tasks: Self.some)), .details(Details(tasks: Self.some)))
        #expect(steps == ["list", "details a b c", "end unchanged"])
    }
}

/// A source with a declaration only: a machine must not call it.
struct DeclaredSource: Source {
    let name = "my-work"
    let scope = Scope(instance: "https://acme.example", user: "ada", kind: "declared")
    let schema = TaskSchema([.init("priority", .int)])
    var hidesChanges = false
    var maxDepartures = Int.max

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer { preconditionFailure("a machine calls no source") }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        preconditionFailure("a machine calls no source")
    }
}

extension Answer {
    /// An answer that lists these tasks, with their titles.
    init(
        tasks: [TaskKey], coverage: Coverage = .whole, title: (TaskKey) -> String = { _ in "printer on fire" },
        cursor: Cursor? = nil
    ) {
        do {
            let listing = try Listing(records: tasks.map { ($0, ["title": .string(title($0))]) })
            var builder = FingerprintBuilder()
            for key in tasks { builder.add(key.text + title(key)) }
            self.init(listing: listing, coverage: coverage, fingerprint: builder.fingerprint, cursor: cursor)
        } catch { preconditionFailure("\(error)") }
    }
}

extension Details {
    init(tasks: [TaskKey]) {
        self.init()
        for key in tasks { snapshots[key] = task(key.text) }
    }
}

extension PollMachine.Loaded {
    init(tasks: [TaskKey]) {
        self.init(
            tasks: Dictionary(uniqueKeysWithValues: tasks.map { ($0, RememberedTask(snapshot: task($0.text), generation: 1)) }))
    }
}

extension PollMachine.Step {
    fileprivate var words: String {
        switch self {
        case .open: "open"
        case .list: "list"
        case .details(let keys, _): "details " + keys.map(\.text).joined(separator: " ")
        case .load(let request): "load " + request.keys.map(\.text).joined(separator: " ")
        case .commit(let commit): "commit +\(commit.present.count) -\(commit.removed.count) \(commit.events.count) events"
        case .store(let health, _, _): "store \(health.failures) failures" + (health.held == nil ? "" : " held")
        case .end(.failed): "end failed"
        case .end(let outcome): "end \(outcome)"
        }
    }
}
