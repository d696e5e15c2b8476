import BellhopCore

/// Decides what polling one source does next, from the results of the steps before.
///
/// A value without effects: ``Poller`` performs each step and returns its result until the poll has ended. So every order of
/// answers, failures and times can be tried without a network, a store or a clock.
struct PollMachine: Sendable {
    /// The next action of a poll.
    enum Step: Sendable {
        /// Read the source's stored state.
        case open
        case list(LastPoll)
        case details(of: [TaskKey], in: Listing)
        case load(LoadRequest)
        /// T1.
        case commit(PollCommit)
        /// Store the source's health, the events about it, and the rest that the source asked for.
        case store(SourceHealth, [Event], rest: RequestedRest?)
        case end(PollOutcome)
    }

    enum Result: Sendable {
        case opened(SourceMemory)
        case listed(Answer)
        case details(Details)
        case loaded(Loaded)
        case committed(PollResult)
        case stored
        case failed(Failure)
    }

    /// When a result arrived, and the other facts that decisions need from outside.
    struct Moment: Sendable {
        var now: Timestamp
        /// How long the poll has taken.
        var took = Duration.zero
        /// From 0 up to 1; spreads the waits after failures.
        var jitter = 0.5
        /// The rest during which nothing may be requested; nil if the source's connection does not rest.
        var rest: ReceiverStop?
    }

    /// The facts to read from the store about the tasks of a poll.
    struct LoadRequest: Sendable, Hashable {
        /// The tasks to read, each with the latest write to it by our rules from `since` on.
        var keys: [TaskKey] = []
        var since = Timestamp.distantPast
        /// The event subjects for which to read the comments by our rules from `commentsSince` on.
        var commented: [String] = []
        var commentsSince = Timestamp.distantPast

        var isEmpty: Bool { keys.isEmpty && commented.isEmpty }
    }

    /// The facts that were read for a ``LoadRequest``.
    struct Loaded: Sendable {
        var tasks: [TaskKey: RememberedTask] = [:]
        /// Our latest writes, by event subject.
        var writes: [String: [OwnWrite]] = [:]
        /// Our comments, by event subject.
        var comments: [String: [WrittenComment]] = [:]
    }

    struct RequestedRest: Sendable, Hashable {
        /// Nil if the source named no time.
        var wait: Duration?
        var reason: String
    }

    enum Phase: Sendable {
        case idle, opening
        case listing(Poll)
        case reading(AcceptedPoll)
        case loading(ReadPoll)
        case committing(DecidedPoll)
        case storing(SourceHealth, PollOutcome, [Signal])
    }

    /// The machine reads only its properties; ``Poller`` makes the requests.
    let source: any Source
    let plan: PollPlan
    /// The stored state of the source, valid while `isOpen`.
    var memory = SourceMemory(known: KnownTasks())
    /// Whether `memory` is what the store has: false before the store was read, and after someone else may have changed it.
    private(set) var isOpen = false
    private var phase = Phase.idle
    /// When to poll again after a poll that failed or was skipped; nil for the regular time.
    var retryAt: Timestamp?
    private var wasBusy = true
    /// The time of the latest successful poll in the store.
    private var storedSuccess: Timestamp?
    /// How many polls looked up only a part of the unlisted tasks.
    private var partialLookups = 0
    private(set) var notices = Notices()
    /// The signals that are not emitted yet, oldest first.
    private var signals: [Signal] = []

    init(_ source: any Source, plan: PollPlan) { (self.source, self.plan) = (source, plan) }

    /// Begins a poll; an unfinished one is dropped.
    mutating func begin(at moment: Moment) -> Step {
        retryAt = nil
        guard isOpen else { return go(to: .opening, .open) }
        return start(at: moment)
    }

    /// Takes the result of the last step and decides on the next.
    mutating func received(_ result: Result, at moment: Moment) -> Step {
        let phase = phase
        self.phase = .idle
        switch (phase, result) {
        case (_, .failed(let failure)): return fail(failure, at: moment)
        case (.opening, .opened(let memory)):
            self.memory = memory
            isOpen = true
            storedSuccess = memory.health.lastSuccess
            return start(at: moment)
        case (.listing(let poll), .listed(let answer)): return compare(answer, poll, at: moment)
        case (.reading(let poll), .details(let details)): return take(details, poll, at: moment)
        case (.loading(let poll), .loaded(let loaded)): return decide(loaded, poll, at: moment)
        case (.committing(let poll), .committed(.committed(let turn, _))):
            memory.turn = turn
            storedSuccess = poll.commit.health.lastSuccess
            return finish(poll, at: moment)
        case (.committing, .committed(.superseded)):
            isOpen = false
            report(.pollSuperseded(source: source.name))
            return .end(.superseded)
        case (.storing(let health, let outcome, let signals), .stored):
            memory.health = health
            storedSuccess = health.lastSuccess
            self.signals += signals
            return end(outcome)
        default: preconditionFailure("the result of another step")
        }
    }

    /// Call this when the store failed during a poll: the stored state is then unknown. The next poll takes place at the regular
    /// time, or after a short pause if the source has not been opened yet.
    mutating func forget(at now: Timestamp) {
        retryAt = isOpen ? nil : now + EngineContext.storePause
        isOpen = false
        phase = .idle
    }

    /// When to poll next, after a poll that started at this time.
    func nextPoll(after started: Timestamp, jitter: Double) -> Timestamp {
        if let retryAt { return retryAt }
        let regular = regular(after: started, isBusy: wasBusy, jitter: jitter)
        guard isOpen else { return regular }
        // A doubtful list (one that is held, or an empty first one) is verified earlier than the cadence says.
        let doubtful = [memory.health.held?.since, memory.health.emptyBaseline?.since].compactMap(\.self)
        return doubtful.map { $0 + StormGuard.confirmationDelay }.filter { $0 > started }.reduce(regular, min)
    }

    /// The earliest time of a poll that is requested by ``PollBell/ringSoon()``, after a poll that started at this time: not before the
    /// end of a rest, or of the wait after a failure.
    func soonPoll(after started: Timestamp) -> Timestamp { retryAt ?? started + plan.spacing }

    func regular(after started: Timestamp, isBusy: Bool, jitter: Double) -> Timestamp {
        plan.cadence.next(after: started, busy: isBusy, jitter: jitter) ?? started + .days(1)
    }

    /// The health to store, if the stored success is out of date by at least this age, or later because the clock was set back; otherwise
    /// nil.
    func unstoredSuccess(olderThan age: Duration) -> SourceHealth? {
        guard isOpen, let success = memory.health.lastSuccess, success != storedSuccess,
            storedSuccess.map({ success < $0 || success - $0 >= age }) ?? (age == .zero)
        else { return nil }
        return memory.health
    }

    /// When the current series of failed or held polls began; nil if the latest poll was good.
    var failingSince: Timestamp? { [memory.health.failingSince, memory.health.held?.since].compactMap(\.self).min() }

    mutating func storedSuccess(of health: SourceHealth) { storedSuccess = health.lastSuccess }

    mutating func takeSignals() -> [Signal] {
        defer { signals = [] }
        return signals
    }

    // MARK: - For the polls

    mutating func go(to phase: Phase, _ step: Step) -> Step {
        self.phase = phase
        return step
    }

    mutating func end(_ outcome: PollOutcome) -> Step {
        switch outcome {
        case .changed, .baseline: wasBusy = true
        case .unchanged: wasBusy = false
        case .held, .superseded, .failed: break
        }
        return .end(outcome)
    }

    mutating func report(_ signal: Signal) { signals.append(signal) }

    mutating func report(listNotices notices: [String], isWhole: Bool) {
        for notice in self.notices.new(notices, isWhole: isWhole) { report(.notice(source: source.name, text: notice)) }
    }

    mutating func report(detailNotice notice: String?) {
        if let notice = notices.new(notice) { report(.notice(source: source.name, text: notice)) }
    }

    /// Divides unlisted tasks into those to look up now and those left to a later poll, in rotation.
    mutating func chooseLookups(among gone: [TaskKey]) -> (asked: [TaskKey], waiting: [TaskKey]) {
        let most = source.maxDepartures
        guard gone.count > most else { return (gone, []) }
        let start = partialLookups % ((gone.count + most - 1) / most) * most
        partialLookups += 1
        let turned = gone[start...] + gone[..<start]
        return (Array(turned.prefix(most)), Array(turned.dropFirst(most)))
    }
}

/// The current notices about a source. Each is reported once; one that differs only in its numbers is the same notice.
struct Notices: Sendable {
    /// About the latest details that were read.
    private var details: String?
    /// The notices about lists since the last whole one: a partial listing that omits a notice does not retract it.
    private var lists: [String] = []

    var all: [String] { lists + (details.map { [$0] } ?? []) }

    mutating func new(_ notice: String?) -> String? {
        defer { details = notice }
        return notice.map(Self.withoutDigits) == details.map(Self.withoutDigits) ? nil : notice
    }

    mutating func new(_ notices: [String], isWhole: Bool) -> [String] {
        let before = Set(lists.map(Self.withoutDigits))
        let present = Set(notices.map(Self.withoutDigits))
        lists = (isWhole ? [] : lists.filter { !present.contains(Self.withoutDigits($0)) }) + notices
        return notices.filter { !before.contains(Self.withoutDigits($0)) }
    }

    private static func withoutDigits(_ notice: String) -> String { notice.filter { !$0.isNumber } }
}
