/// Whether a connector does something that not every connector does.
public enum Ability: Sendable, Hashable {
    case yes
    case no
    /// Only if a setting has one of these values, or any value (nil). `line` is the line of bellhop.yaml that sets it.
    case setting(String, values: Set<String>?, line: String)

    /// The ability with these settings: `yes` if they turn it on.
    public func with(_ settings: Settings) -> Ability {
        guard case .setting(let name, let values, _) = self else { return self }
        guard let values else { return settings.values[name] == nil ? self : .yes }
        return values.isDisjoint(with: settings.texts(name)) ? self : .yes
    }

    /// The line of bellhop.yaml that would turn the ability on; nil if no setting can.
    public var missingLine: String? { if case .setting(_, _, let line) = self { line } else { nil } }
}

/// The features of messages that a kind of receiver supports.
public struct MessageAbilities: Sendable, Hashable {
    /// Whether it shows messages of one `thread` together.
    public var threads: Ability
    /// Whether a later message of a `thread` can replace the first one (`update`).
    public var updates: Ability
    /// Whether a message can close what its `thread` opened (`resolve`).
    public var resolves: Ability
    /// Whether it can notify people by name (`mentions`).
    public var mentions: Ability
    /// Advice on how to write a mention; nil if every user and group can be mentioned.
    public var mentionForms: String?
    /// Whether any group can be mentioned.
    public var mentionsGroups: Bool

    public init(
        threads: Ability = .no, updates: Ability = .no, resolves: Ability = .no, mentions: Ability = .no,
        mentionForms: String? = nil, mentionsGroups: Bool = true
    ) {
        self.threads = threads
        self.updates = updates
        self.resolves = resolves
        self.mentions = mentions
        self.mentionForms = mentionForms
        self.mentionsGroups = mentionsGroups
    }

    /// The line of bellhop.yaml that would turn on the ability that this key of a message needs; nil if no setting can.
    public func line(for key: String) -> String? {
        switch key {
        case "thread": threads.missingLine ?? updates.missingLine
        case "update": updates.missingLine
        case "mentions": mentions.missingLine
        default: nil
        }
    }

    /// The abilities with these settings.
    public func with(_ settings: Settings) -> MessageAbilities {
        MessageAbilities(
            threads: threads.with(settings), updates: updates.with(settings), resolves: resolves.with(settings),
            mentions: mentions.with(settings), mentionForms: mentionForms, mentionsGroups: mentionsGroups)
    }
}

/// The limits of a kind of connection, unless its settings are stricter.
public struct DeliveryLimits: Sendable, Hashable {
    /// Concurrent attempts; nil for the dispatcher's limit.
    public var concurrency: Int?
    /// The largest number of requests per time that the service accepts; nil if it names none.
    public var rate: Rate?
    /// The most requests that one attempt makes. The connection's rate must allow all of them.
    public var requests: Int
    /// The number of further deliveries whose tasks are passed to an attempt (``Attempt/upcoming``).
    public var upcoming: Int

    public init(concurrency: Int? = nil, rate: Rate? = nil, requests: Int = 1, upcoming: Int = 0) {
        (self.concurrency, self.rate, self.requests, self.upcoming) = (concurrency, rate, requests, upcoming)
    }
}
