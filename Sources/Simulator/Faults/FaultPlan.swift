import BellhopCore
import Synchronization

/// The pending faults, in the order in which they were added.
///
/// Delays and quirks of all matching rules add up. Of the faults that end a request, only the first occurs: the rules after it are
/// kept for the next request, so that several rules form a queue.
/// A class over a lock, because the server draws from it while tests and the admin endpoint add to it.
public final class FaultPlan: Sendable {
    private struct State {
        var rules: [RuleStatus] = []
        var lastID = 0
        var struck = 0
        var random: SeededRandom
    }

    struct Draw: Sendable {
        var milliseconds = 0
        var quirks: Set<Fault> = []
        var ending: Fault?
        var takesEffect = false
    }

    /// A rule, how many requests it has matched, and how often its fault has occurred.
    public struct RuleStatus: Sendable, Hashable, Identifiable {
        public let id: Int
        public let rule: FaultRule
        public fileprivate(set) var seen = 0
        public fileprivate(set) var struck = 0
        /// When the requests that count against a rate limit were accepted.
        fileprivate var accepted: [Int64] = []
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

    /// Adds a rule after the others; returns the id that removes it.
    @discardableResult
    public func add(_ rule: FaultRule) -> Int {
        state.withLock { state in
            state.lastID += 1
            state.rules.append(RuleStatus(id: state.lastID, rule: rule))
            return state.lastID
        }
    }

    /// Adds a fault for the next matching request, or for several.
    @discardableResult
    public func add(
        _ fault: Fault, _ method: String? = nil, path: String? = nil, query: String? = nil, skip: Int = 0, times: Int? = 1
    ) -> Int {
        add(FaultRule(fault, method: method, path: path, query: query, skip: skip, times: times))
    }

    /// Removes a rule; false if none has this id.
    @discardableResult
    public func remove(_ id: Int) -> Bool {
        state.withLock { state in
            let before = state.rules.count
            state.rules.removeAll { $0.id == id }
            return state.rules.count < before
        }
    }

    public func removeAll() { state.withLock { $0.rules = [] } }

    /// All rules, including used up ones.
    public var rules: [RuleStatus] { state.withLock { $0.rules } }

    /// How many faults have occurred, including those of removed rules.
    public var struck: Int { state.withLock { $0.struck } }

    func draw(for method: String, _ path: String, query: String = "", at now: Int64 = 0) -> Draw {
        state.withLock { state in
            var draw = Draw()
            for index in state.rules.indices where draw.ending == nil {
                let rule = state.rules[index].rule
                guard rule.matches(method, path, query) else { continue }
                state.rules[index].seen += 1
                guard state.rules[index].seen > rule.skip, state.rules[index].struck < rule.times ?? .max else { continue }
                if rule.probability < 1, Double.random(in: 0..<1, using: &state.random) >= rule.probability { continue }
                if case .rateLimit(let limit) = rule.fault, limit.accepts(at: now, &state.rules[index].accepted) { continue }
                state.rules[index].struck += 1
                state.struck += 1
                switch rule.fault.effect(at: now) {
                case .delay(let milliseconds): draw.milliseconds += milliseconds
                case .quirk: draw.quirks.insert(rule.fault)
                case .reply, .changed, .cut, .reset, .silence:
                    draw.ending = rule.fault
                    draw.takesEffect = rule.takesEffect
                }
            }
            return draw
        }
    }
}

/// When a fault occurs: for which requests, after how many of them, and how often.
public struct FaultRule: Sendable, Hashable {
    public var fault: Fault
    /// In upper case; nil matches all.
    public var method: String?
    /// The start of the decoded path; nil matches all. Paths under `/simulator` never match.
    public var path: String?
    /// A text in the decoded query, so that the fault occurs for some lists only; nil matches all.
    public var query: String?
    /// How many matching requests succeed before the fault occurs.
    public var skip: Int
    /// For how many requests the fault occurs; nil for no limit.
    public var times: Int?
    /// From 0 to 1, decided for each matching request.
    public var probability: Double
    /// Whether the request takes effect before its answer is replaced, for faults that replace it.
    public var takesEffect: Bool

    func matches(_ method: String, _ path: String, _ query: String) -> Bool {
        (self.method == nil || self.method == method) && (self.path.map(path.hasPrefix) ?? true)
            && (self.query.map(PercentEncoding.decode(query, plusIsSpace: true).contains) ?? true)
    }

    public init(
        _ fault: Fault, method: String? = nil, path: String? = nil, query: String? = nil, skip: Int = 0, times: Int? = 1,
        probability: Double = 1, takesEffect: Bool = false
    ) {
        self.fault = fault
        self.method = method
        self.path = path
        self.query = query
        self.skip = skip
        self.times = times
        self.probability = probability
        self.takesEffect = takesEffect
    }
}
