/// The key of one piece of a rule's state: that it ran once for a key, when it last ran, a write to a task, …
public struct StateKey: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case once, throttle, budget
        /// A wait of `for`; the runs that `count` has; when `group` last flushed; the runs that it has gathered.
        case hold, count, group, gathered
        /// The events that `all` and `sequence` have so far; an absence that `none` waits for; the waits and absences that a task
        /// began under another key than its id.
        case match, absence, begun
        /// The escalations of a task, one piece for each rule; the key is the source and the task.
        case escalation
        /// The events of an escalation's run before its latest; the rules as they were when escalations began.
        case escalated, steps
        /// The place on the bus up to which a rule with a schedule has received its sources' events.
        case digest

        /// The kind of timer that belongs to state of this kind, if any.
        public var timer: RuleTimer.Kind? {
            switch self {
            case .hold: .hold
            case .gathered: .group
            case .absence: .absence
            case .escalation: .escalation
            case .once, .throttle, .budget, .count, .group, .match, .begun, .escalated, .steps, .digest: nil
            }
        }

        /// The part of a rule that waits, counts or gathers with this state; nil for other kinds, and for several events under `on`.
        public var part: String? {
            switch self {
            case .hold: "for"
            case .count: "count"
            case .gathered: "group"
            case .absence: "none"
            case .once, .throttle, .budget, .group, .match, .begun, .escalation, .escalated, .steps, .digest: nil
            }
        }

        /// Whether several pieces of state share one timer.
        public var isGathered: Bool { self == .gathered }
    }

    /// The rule, with the prefix `shadow/` for the state of its shadow runs; empty for state shared by all rules, or kept by task.
    public var rule: String
    public var kind: Kind
    public var key: String
    /// Distinguishes the pieces of a window, such as the writes to one task; empty for a key with a single piece.
    public var element: String

    public init(rule: String, kind: Kind, key: String, element: String = "") {
        (self.rule, self.kind, self.key, self.element) = (rule, kind, key, element)
    }

    /// The rule, whose timers are the same in both modes.
    public var ruleName: String {
        if kind == .escalation { return element }
        return rule.hasPrefix("shadow/") ? String(rule.dropFirst("shadow/".count)) : rule
    }

    /// The key of a piece of the window with this key.
    public func at(_ element: String) -> StateKey { StateKey(rule: rule, kind: kind, key: key, element: element) }

    public static func == (left: StateKey, right: StateKey) -> Bool {
        left.kind == right.kind && left.key.hasBytes(of: right.key) && left.element.hasBytes(of: right.element)
            && left.rule.hasBytes(of: right.rule)
    }
}

/// The stored values of some state keys, as a decision needs them.
public struct RuleState: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var values: [StateKey: JSON] = [:]
    /// The pieces that have an element, by the key without it.
    private var windows: [StateKey: [StateKey: JSON]] = [:]

    public init(dictionaryLiteral elements: (StateKey, JSON)...) { for (key, value) in elements { self[key] = value } }

    public var isEmpty: Bool { values.isEmpty && windows.isEmpty }

    public var all: [(key: StateKey, value: JSON)] {
        values.map { ($0, $1) } + windows.values.flatMap { window in window.map { ($0, $1) } }
    }

    public subscript(key: StateKey) -> JSON? {
        get { key.element.isEmpty ? values[key] : windows[key.at("")]?[key] }
        set {
            if key.element.isEmpty {
                values[key] = newValue
            } else {
                windows[key.at(""), default: [:]][key] = newValue
                if newValue == nil, windows[key.at("")]?.isEmpty ?? false { windows[key.at("")] = nil }
            }
        }
    }

    /// The keys of waits of `for`.
    public var waits: Set<StateKey> { Set(values.keys.lazy.filter { $0.kind == .hold }) }

    /// The pieces of a window.
    public func window(_ key: StateKey) -> [StateKey: JSON] { windows[key] ?? [:] }

    /// The values and windows of these keys.
    public func values(for keys: Set<StateKey>) -> RuleState {
        var found: RuleState = [:]
        for key in keys {
            if let value = values[key] { found.values[key] = value }
            if let window = windows[key] { found.windows[key] = window }
        }
        return found
    }

    /// Removes the values and windows of these keys.
    public mutating func forget(_ keys: some Sequence<StateKey>) {
        for key in keys {
            values[key] = nil
            windows[key] = nil
        }
    }

    /// Adds the pieces of another state.
    public mutating func merge(_ other: RuleState) {
        values.merge(other.values) { $1 }
        windows.merge(other.windows) { $1 }
    }

    /// Makes these changes without checking the expected values.
    public mutating func apply(_ writes: [StateWrite]) {
        for write in writes {
            switch write.change {
            case .set(let value, _): self[write.key] = value
            case .delete: self[write.key] = nil
            }
        }
    }
}

/// A change of a piece of rule state, made only if the stored value is still the expected one.
public struct StateWrite: Sendable, Hashable {
    public enum Change: Sendable, Hashable {
        /// An hour after `expires` it may be deleted; nil for never.
        case set(JSON, expires: Timestamp?)
        case delete
    }

    /// How long a piece of state stays after it has expired: it is valid again if the clock is set back.
    public static let clockCorrection = Duration.seconds(3600)

    public enum Expectation: Sendable, Hashable {
        case any, absent
        case value(JSON)
    }

    public var key: StateKey
    public var change: Change
    public var expected: Expectation

    public init(_ key: StateKey, _ change: Change, expecting expected: Expectation = .any) {
        (self.key, self.change, self.expected) = (key, change, expected)
    }
}
