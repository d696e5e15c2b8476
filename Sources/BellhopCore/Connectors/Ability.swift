/// Whether a connector does something that not every connector does.
public enum Ability: Sendable, Hashable {
    case yes
    case no
    /// Only if a setting has one of these values, or any value (nil); `line` is what asks for it in bellhop.yaml.
    case setting(String, values: Set<String>?, line: String)

    /// The same with these settings: `yes` if they ask for it.
    public func with(_ settings: Settings) -> Ability {
        guard case .setting(let name, let values, _) = self else { return self }
        guard let values else { return settings.values[name] == nil ? self : .yes }
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
    /// Whether a later message of a `thread` can replace the first one (`update`).
    public var updates: Ability
    /// Whether a message can close what its `thread` opened (`resolve`).
    public var resolves: Ability
    /// Whether it can notify people by name (`mentions`).
    public var mentions: Ability

    public init(threads: Ability = .no, updates: Ability = .no, resolves: Ability = .no, mentions: Ability = .no) {
        self.threads = threads
        self.updates = updates
        self.resolves = resolves
        self.mentions = mentions
    }

    /// The line in bellhop.yaml that would ask for what this key of a message needs; nil if no setting can.
    public func line(for key: String) -> String? {
        switch key {
        case "thread": threads.missingLine ?? updates.missingLine
        case "update": updates.missingLine
        case "mentions": mentions.missingLine
        default: nil
        }
    }

    /// The same with these settings.
    public func with(_ settings: Settings) -> MessageAbilities {
        MessageAbilities(
            threads: threads.with(settings), updates: updates.with(settings), resolves: resolves.with(settings),
            mentions: mentions.with(settings))
    }
}

/// How much a kind of connection takes at once, unless its settings say less.
public struct DeliveryLimits: Sendable, Hashable {
    /// Concurrent attempts; nil for the dispatcher's limit.
    public var concurrency: Int?
    /// The largest number of requests per time that the service accepts; nil if it names none.
    public var rate: Rate?
    /// The most requests of an attempt, all of which the connection's rate must have room for.
    public var requests: Int
    /// For how many of the next deliveries an attempt wants to know the tasks.
    public var upcoming: Int

    public init(concurrency: Int? = nil, rate: Rate? = nil, requests: Int = 1, upcoming: Int = 0) {
        self.concurrency = concurrency
        self.rate = rate
        self.requests = requests
        self.upcoming = upcoming
    }
}
