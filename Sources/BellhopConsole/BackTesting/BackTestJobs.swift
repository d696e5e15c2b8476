import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import Synchronization

/// The queue of back-tests: one runs at a time, some wait, and finished reports are kept for a while.
///
/// A class with a mutex, because requests come on several threads.
final class BackTestJobs: Sendable {
    struct Job: Sendable {
        enum State: String, Sendable, CaseIterable { case waiting, running, done, failed, ended }

        var id: String
        var by: String
        /// The rules or files that are tested, for people.
        var about: String
        var span: Duration
        var asked: Timestamp
        var state = State.waiting
        /// From 0 to 1.
        var progress = 0.0
        var finished: Timestamp?
        var report: JSON?
        /// The coverage of the counted rules' files, if it was requested.
        var coverage: RuleCoverage?
        /// Why it failed or was ended, in a sentence.
        var problem: String?
        fileprivate var plan: BackTestPlan?
        /// Rings once, to end the job early.
        fileprivate let ending = Bell()

        fileprivate var isOver: Bool { state != .waiting && state != .running }
    }

    static let maxWaiting = 4
    /// The most ended jobs that are kept, and for how long.
    static let maxKept = 20
    static let retention = Duration.seconds(3600)
    static let timeout = Duration.seconds(600)

    private struct State {
        /// All jobs, oldest first.
        var jobs: [Job] = []
        var isStopping = false
    }

    private let view: AgentView
    private let state = Mutex(State())
    private let bell = Bell()
    /// Limits concurrent checks and tests of rules, which take processor time from routing.
    let checkLimit = ConcurrencyLimit(most: 2)

    init(_ view: AgentView) { self.view = view }

    /// The jobs that wait, run or are kept, newest first.
    var jobs: [Job] {
        let now = view.clock.now
        return state.withLock { state in
            state.jobs.removeAll { job in job.finished.map { now - $0 >= Self.retention } ?? false }
            return state.jobs.reversed()
        }
    }

    func job(_ id: String) throws(Problem) -> Job {
        if let job = jobs.first(where: { $0.id == id }) { return job }
        throw Problem(404, "There is no back-test `\(id)`: reports are kept for an hour.")
    }

    /// Adds a job, which runs after the jobs before it.
    func add(_ plan: BackTestPlan, about: String, span: Duration, by name: String) throws(Problem) -> Job {
        let job = Job(id: Hexadecimal.random(), by: name, about: about, span: span, asked: view.clock.now, plan: plan)
        let isAdded = state.withLock { state in
            guard state.jobs.count(where: { $0.state == .waiting }) < Self.maxWaiting else { return false }
            state.jobs.append(job)
            let surplus = state.jobs.count(where: \.isOver) - Self.maxKept
            for _ in 0..<max(0, surplus) {
                if let oldest = state.jobs.firstIndex(where: \.isOver) { state.jobs.remove(at: oldest) }
            }
            return true
        }
        guard isAdded else {
            throw Problem(
                429, "\(Self.maxWaiting) back-tests are waiting already: try again when one of them has run.", retryAfter: 10)
        }
        bell.ring()
        return job
    }

    /// Ends a job that waits or runs; removes one that has ended, with its report.
    func end(_ id: String) throws(Problem) -> Job {
        var job = try job(id)
        state.withLock { state in
            guard let place = state.jobs.firstIndex(where: { $0.id == id }) else { return }
            if state.jobs[place].isOver {
                state.jobs.remove(at: place)
            } else {
                Self.finish(&state.jobs[place], .ended, at: view.clock.now, problem: "A person ended it.")
                job = state.jobs[place]
            }
        }
        job.ending.ring()
        return job
    }

    /// Ends the running job, and starts no other.
    func stop() {
        let running = state.withLock { state in
            state.isStopping = true
            return state.jobs
        }
        for job in running { job.ending.ring() }
        bell.ring()
    }

    /// Runs the jobs, until the task is cancelled or ``stop()`` is called.
    func run() async {
        while !Task.isCancelled, !state.withLock(\.isStopping) {
            let rings = bell.rings
            if let job = takeNext() { await perform(job) } else { await bell.wait(after: rings, until: nil, on: view.clock) }
        }
    }

    private func takeNext() -> Job? {
        state.withLock { state in
            guard let place = state.jobs.firstIndex(where: { $0.state == .waiting }) else { return nil }
            state.jobs[place].state = .running
            defer { state.jobs[place].plan = nil }
            return state.jobs[place]
        }
    }

    private func perform(_ job: Job) async {
        guard let workshop = view.workshop, let plan = job.plan else { return }
        let thread = LowPriorityThreads(count: 1)
        let deadline = view.clock.now + Self.timeout
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: thread) { await self.report(job.id, plan, workshop) }
            group.addTask {
                await job.ending.wait(after: 0, until: deadline, on: self.view.clock)
                self.endOverdue(job.id)
            }
            await group.next()
            group.cancelAll()
        }
        await thread.stop()
    }

    private func endOverdue(_ id: String) {
        let minutes = Self.timeout.components.seconds / 60
        change(id) { job, now in
            Self.finish(
                &job, .ended, at: now, problem: "It took more than \(minutes) minutes: choose a shorter time, or fewer rules.")
        }
    }

    private func report(_ id: String, _ plan: BackTestPlan, _ workshop: RuleWorkshop) async {
        do throws(StoreError) {
            let report = try await workshop.run(plan) { progress in change(id) { job, _ in job.progress = progress } }
            if Task.isCancelled { return }
            let (whole, coverage) = (report.json, plan.measuredCoverage)
            var json = whole.cut(to: Self.maxInList)
            if json != whole { json = json.with("cut", true) }
            if let coverage { json = json.with("coverage", coverage.json.cut(to: Self.maxInList)) }
            change(id) { job, now in
                job.report = json
                job.coverage = coverage
                job.progress = 1
                Self.finish(&job, .done, at: now)
            }
        } catch {
            change(id) { job, now in Self.finish(&job, .failed, at: now, problem: error.message) }
        }
    }

    static let maxInList = BackTestReport.maxSent

    /// Changes a job, unless it has ended.
    private func change(_ id: String, _ change: (inout Job, Timestamp) -> Void) {
        let now = view.clock.now
        state.withLock { state in
            guard let place = state.jobs.firstIndex(where: { $0.id == id }), !state.jobs[place].isOver else { return }
            change(&state.jobs[place], now)
        }
    }

    private static func finish(_ job: inout Job, _ state: Job.State, at now: Timestamp, problem: String? = nil) {
        (job.state, job.finished, job.problem, job.plan) = (state, now, problem, nil)
    }
}

extension JSON {
    /// This value with all lists, at any depth, truncated to a number of members.
    fileprivate func cut(to most: Int) -> JSON {
        switch self {
        case .array(let items): .array(items.prefix(most).map { $0.cut(to: most) })
        case .object(let members): .object(JSON.Object(members.map { ($0.key, $0.value.cut(to: most)) }))
        case .null, .bool, .int, .double, .string: self
        }
    }

    fileprivate func with(_ name: String, _ value: JSON) -> JSON {
        var members = asObject ?? [:]
        members[name] = value
        return .object(members)
    }
}

extension BackTestJobs.Job {
    /// - Parameter isWhole: whether to include the report.
    func json(isWhole: Bool) -> JSON {
        var json: JSON.Object = [
            "id": .string(id), "state": .string(state.rawValue), "progress": .double(progress), "about": .string(about),
            "since": .string(DurationText.format(span)), "by": .string(by), "asked": .string(asked.rfc3339),
            "finished": .optional(finished?.rfc3339), "problem": .optional(problem),
        ]
        if isWhole { json["report"] = report ?? .null }
        return .object(json)
    }
}

/// Limits how many requests do something at the same time. A class with a mutex, because requests run on several threads.
final class ConcurrencyLimit: Sendable {
    private let most: Int
    private let running = Mutex(0)

    init(most: Int) { self.most = most }

    /// - Throws: 503 if the limit is reached.
    func enter() throws(Problem) -> ConcurrencyLimit {
        let hasRoom = running.withLock { running in
            guard running < most else { return false }
            running += 1
            return true
        }
        guard hasRoom else {
            throw Problem(503, "\(most) other requests check or test rules now. Try again later.", retryAfter: 2)
        }
        return self
    }

    func leave() { running.withLock { $0 -= 1 } }
}
