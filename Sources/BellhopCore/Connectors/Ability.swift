/// Whether a connector does something that not every connector does.
public enum Ability: Sendable, Hashable {
    case yes
    case no
    /// Only if a setting has one of these values; `line` is what asks for it in bellhop.yaml.
    case setting(String, values: Set<String>, line: String)

    /// The same with these settings: `yes` if they ask for it.
    public func with(_ settings: Settings) -> Ability {
        guard case .setting(let name, let values, _) = self else { return self }
        return values.isDisjoint(with: settings.texts(name)) ? self : .yes
    }

    /// The line that would ask for it in bellhop.yaml; nil if no setting can.
    public var missingLine: String? {
        if case .setting(_, _, let line) = self { line } else { nil }
    }
}

/// What a kind of receiver does with messages.
public struct MessageAbilities: Sendable, Hashable {
    /// Whether it shows messages of one `thread` together.
    public var threads: Ability
    /// The longest text it takes, in code points; nil for no limit.
    public var longestText: Int?

    public init(threads: Ability = .no, longestText: Int? = nil) {
        self.threads = threads
        self.longestText = longestText
    }
}

/// How much a kind of connection takes at once, unless its settings say less.
public struct DeliveryLimits: Sendable, Hashable {
    /// Concurrent attempts; nil for the dispatcher's limit.
    public var concurrency: Int?
    /// The most requests of an attempt, all of which the connection's rate must have room for.
    public var requests: Int
    /// For how many of the next deliveries an attempt wants to know the tasks.
    public var upcoming: Int

    public init(concurrency: Int? = nil, requests: Int = 1, upcoming: Int = 0) {
        self.concurrency = concurrency
        self.requests = requests
        self.upcoming = upcoming
    }
}
