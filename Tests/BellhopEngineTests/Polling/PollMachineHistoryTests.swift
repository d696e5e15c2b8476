import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

/// The contract of a poll machine, with random behaviour of its source, its store and its clock.
@Suite(.timeLimit(.minutes(5))) struct `Random histories of the poll machine` {
    @Test(arguments: 0..<4) func `a random history keeps the contract of the poll machine`(_ part: Int) {
        for number in 0..<RandomRuns.count(60) {
            let seed = RandomRuns.seed(UInt64(part * 1_000_000 + number))
            var history = PollHistory(seed: seed)
            history.run(polls: 10 + number % 30)
            #expect(history.faults == [], "history \(seed)")
        }
    }
}

/// One random history of polls against a model of the source and of the store, which records breaches of the contract.
private struct PollHistory {
    private(set) var faults: [String] = []
    private var random: SeededRandom
    private let source: DeclaredSource
    private var machine: PollMachine
    private var now = Timestamp(seconds: 1_767_603_600)
    private var isCalm = false
    /// The tasks of the source, with their versions.
    private var tasks: [TaskKey: Int] = [:]
    private var version = 0

    // The store.
    private var memory = SourceMemory(known: KnownTasks())
    private var stored: [TaskKey: RememberedTask] = [:]
    private var events: [Event] = []
    /// The tasks according to the baseline and the events since, with their titles.
    private var reported: [TaskKey: String] = [:]

    // The expected health.
    private var failures = 0
    private var failingSince: Timestamp?
    /// The earliest time of the next request that the source named, and the end of its connection's rest, which applies to all polls.
    private var notBefore = Timestamp.distantPast
    private var restUntil = Timestamp.distantPast

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        source = DeclaredSource(hidesChanges: random.oneIn(2), maxDepartures: random.oneIn(2) ? 7 : .max)
        machine = PollMachine(source, plan: .minutely)
        for number in 0..<random.number(60) { tasks[TaskKey("t\(number)")] = 0 }
    }

    mutating func run(polls: Int) {
        for _ in 0..<polls {
            changeTasks()
            poll()
            wait()
        }
        isCalm = true
        // A clock that was set back may leave a rest longer than these polls.
        now = max(now, restUntil, notBefore)
        for _ in 0..<60 {
            poll()
            now = machine.nextPoll(after: now, jitter: 0.5)
        }
        expect(Set(memory.known.map(\.key)) == Set(tasks.keys), "the known tasks differ from the source's")
        expect(reported == tasks.mapValues(title), "the reported tasks differ from the source's")
        expect(memory.health.failures == 0 && memory.health.held == nil, "it does not recover")
    }

    private mutating func expect(_ isTrue: Bool, _ fault: @autoclosure () -> String) {
        if !isTrue { faults.append(fault()) }
    }

    // MARK: The tasks

    private mutating func changeTasks() {
        if random.oneIn(12) {  // most tasks leave at once
            for key in tasks.keys.sorted(by: { $0.text < $1.text }) where !random.oneIn(4) { tasks[key] = nil }
        }
        for _ in 0..<(random.oneIn(8) ? 40 : random.number(4)) {
            let key = TaskKey("t\(random.number(60))")
            version += 1
            if tasks[key] != nil, random.oneIn(2) { tasks[key] = nil } else { tasks[key] = version }
        }
    }

    private mutating func wait() {
        let next = machine.nextPoll(after: now, jitter: Double(random.number(100)) / 100)
        expect(next > now, "it polls again at once")
        expect(next >= notBefore, "it polls before the time that the source named")
        switch random.number(10) {
        case 0:
            // The agent starts again, perhaps after the clock was set back.
            if random.oneIn(2) { now = now - .seconds(random.number(3600)) }
            machine = PollMachine(source, plan: .minutely)
            notBefore = .distantPast
        case 1: now = now + .seconds(1)  // a push
        default: now = next
        }
    }

    private func title(_ version: Int) -> String { "title \(version)" }

    // MARK: A poll

    private mutating func poll() {
        let before = (cursor: memory.cursor, turn: memory.turn, known: memory.known.count)
        let wasHeld = memory.health.held != nil
        let began = now
        let isResting = restUntil > now
        var step = machine.begin(at: moment)
        for _ in 0..<20 {
            if case .end(let outcome) = step { return check(outcome, began: began, wasResting: isResting) }
            if isResting, case .list = step { expect(false, "it calls a resting connection") }
            guard let result = perform(step, wasHeld: wasHeld) else {
                (failures, failingSince, notBefore) = (memory.health.failures, memory.health.failingSince, .distantPast)
                return machine.forget(at: now)
            }
            if case .failed = result {
                expect(memory.cursor == before.cursor && memory.turn == before.turn, "a failure moves the cursor")
                expect(machine.memory.known.count == before.known, "a failure changes what is known")
            }
            if !isCalm, !isResting, random.oneIn(4) { now = now + .seconds(random.number(20)) }
            step = machine.received(result, at: moment)
        }
        expect(false, "a poll does not end")
    }

    private var moment: PollMachine.Moment {
        let rest = ReceiverStop(receiver: "snow", cause: .rest, since: now, until: restUntil, interval: .zero, reason: "429")
        return PollMachine.Moment(now: now, rest: restUntil > now ? rest : nil)
    }

    /// Nil if the store failed.
    private mutating func perform(_ step: PollMachine.Step, wasHeld: Bool) -> PollMachine.Result? {
        let storeFails = !isCalm && random.oneIn(15)
        switch step {
        case .open: return storeFails ? nil : .opened(memory)
        case .list(let lastPoll): return list(lastPoll)
        case .details(let keys, let listing): return details(keys, listing)
        case .load(let request):
            return storeFails ? nil : .loaded(.init(tasks: stored.filter { request.keys.contains($0.key) }))
        case .commit(let poll):
            if storeFails, random.oneIn(2) { return nil }
            // Another process stored a poll.
            if !isCalm, random.oneIn(20) { memory.turn += 1 }
            guard poll.expectedTurn == memory.turn else { return .committed(.superseded) }
            commit(poll, wasHeld: wasHeld)
            return storeFails ? nil : .committed(.committed(turn: memory.turn, newEvents: poll.events.count))
        case .store(let health, let new, let rest):
            if let wait = rest?.wait { restUntil = max(restUntil, now + wait) }
            if storeFails { return nil }
            memory.health = health
            add(new)
            return .stored
        case .end: preconditionFailure("a poll has ended")
        }
    }

    private mutating func list(_ lastPoll: LastPoll) -> PollMachine.Result {
        expect(
            lastPoll.cursor == memory.cursor && lastPoll.known.count == memory.known.count,
            "it lists with another cursor or other known tasks")
        version += 1
        let cursor = Cursor(.int(Int64(random.oneIn(2) ? 0 : version)))
        var keys = tasks.keys.sorted()
        var coverage = Answer.Coverage.whole
        switch isCalm ? 9 : random.number(14) {
        case 0: return fail(.retry(after: nil))
        case 1: return fail(.retry(after: .seconds(random.number(2000))))
        case 2: return fail(.rest(.seconds(random.number(2000))))
        case 3: return fail(.pauseConnection)
        case 4: keys = []
        case 5: keys.removeAll { _ in random.oneIn(3) }
        case 6: (keys, coverage) = (keys.filter { _ in !random.oneIn(3) }, .part)
        default: break
        }
        var answer = Answer(tasks: keys, coverage: coverage, title: { title(tasks[$0] ?? 0) }, cursor: cursor)
        if lastPoll.answer == answer.fingerprint, coverage == .whole, lastPoll.known.count == keys.count {
            (answer.listing, answer.coverage) = (Listing(), .same)
        }
        return .listed(answer)
    }

    private mutating func fail(_ remedy: Failure.Remedy) -> PollMachine.Result {
        switch remedy {
        case .retry(let wait?), .rest(let wait?): notBefore = now + wait
        default: notBefore = .distantPast
        }
        return .failed(Failure(.gateway, remedy, "502"))
    }

    private mutating func details(_ keys: [TaskKey], _ listing: Listing) -> PollMachine.Result {
        if !isCalm, random.oneIn(8) { return fail(.retry(after: nil)) }
        let listed = Set(listing.entries.map(\.key))
        var details = Details()
        for key in keys {
            if let version = tasks[key], listed.contains(key) {
                if isCalm || !random.oneIn(20) { details.snapshots[key] = task(key.text, title(version)) }
            } else if tasks[key] != nil {
                details.remaining.insert(key)
            } else {
                details.departures[key] = .gone
            }
        }
        return .details(details)
    }

    // MARK: The store

    private mutating func commit(_ poll: PollCommit, wasHeld: Bool) {
        let known = memory.known.count
        expect(
            known < 20 || poll.removed.count * 2 <= known || wasHeld, "\(poll.removed.count) of \(known) tasks leave unconfirmed")
        let announced = Set(poll.events.compactMap(\.task?.key))
        for task in poll.present {
            let key = task.text.key
            // The first tasks are the baseline, and tasks that an empty first list hid join it.
            let isBaseline = !memory.hasBaseline || memory.health.emptyBaseline != nil && !announced.contains(key)
            if isBaseline, reported[key] == nil { reported[key] = task.text.snapshot.title }
            stored[key] = RememberedTask(snapshot: task.text.snapshot, generation: task.generation)
            memory.known.set(
                KnownTask(
                    key: key, listed: task.listed, content: task.content, revision: task.revision, refreshed: task.refreshed))
        }
        for task in poll.removed {
            stored[task.key] = RememberedTask(snapshot: task.snapshot, generation: task.generation, removed: poll.at)
            memory.known.remove(task.key)
        }
        (memory.turn, memory.hasBaseline) = (memory.turn + 1, true)
        (memory.cursor, memory.answer, memory.health) = (poll.cursor, poll.answer, poll.health)
        memory.definitions = poll.definitions
        add(poll.events)
    }

    private mutating func add(_ new: [Event]) {
        for event in new {
            expect(event.task == nil || !events.contains { $0.id == event.id }, "\(event.type.name) happens twice")
            events.append(event)
            guard let task = event.task else { continue }
            let before = reported[task.key]
            reported[task.key] = event.type == .taskRemoved ? nil : task.title
            switch event.type {
            case .taskCreated, .taskReturned: expect(before == nil, "\(task.key) comes twice")
            case .taskRemoved: expect(before != nil, "\(task.key) leaves twice")
            default: expect(before != nil && before != task.title, "\(task.key) changes twice, or while it is away")
            }
        }
    }

    // MARK: The contract

    private mutating func check(_ outcome: PollOutcome, began: Timestamp, wasResting: Bool) {
        let health = machine.memory.health
        switch outcome {
        case .failed where wasResting: break
        case .failed:
            failures += 1
            // A time in the future is corrected.
            if failingSince ?? .distantFuture > began { failingSince = health.failingSince }
            expect(health.failures == failures, "failures are counted wrongly")
            expect(health.failingSince == failingSince && failingSince ?? .distantFuture <= now, "failingSince is wrong")
            expect(health.announced || failures < 3, "many failures are not announced")
        case .unchanged, .baseline, .changed, .held:
            (failures, failingSince) = (0, nil)
            expect(health.failures == 0 && !health.announced, "a poll that worked counts as failed")
            notBefore = .distantPast
            if case .held = outcome {
                expect(health.held != nil, "nothing is held")
            } else {
                expect(health.lastSuccess ?? .distantPast >= began, "lastSuccess is wrong")
            }
        case .superseded:
            (failures, failingSince, notBefore) = (memory.health.failures, memory.health.failingSince, .distantPast)
            return
        }
        let (failing, recovered) = (count(.sourceFailing), count(.sourceRecovered))
        expect(failing == recovered + (health.announced ? 1 : 0), "failures and recoveries do not alternate")
    }

    private func count(_ type: EventType) -> Int { events.count { $0.type == type } }
}

extension SeededRandom {
    fileprivate mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}
