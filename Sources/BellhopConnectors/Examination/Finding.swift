public import BellhopCore

/// One result of examining a connection: a line of `bellhop doctor`.
public struct Finding: Sendable, Hashable {
    /// From the best to the worst.
    public enum State: String, Sendable, Hashable, CaseIterable {
        case ok
        /// It works, with something worth knowing.
        case note
        /// It cannot be checked without performing the action itself.
        case unknown
        case missing
    }

    /// The examined thing, in a word or two: `login`, `read incident`.
    public var subject: String
    public var state: State
    /// The result in words, without secrets.
    public var text: String
    /// How to fix it: the role to grant, the setting to change or the step to take.
    public var remedy: String?
    public var reason: Failure.Reason?

    public init(_ subject: String, _ state: State, _ text: String, remedy: String? = nil, reason: Failure.Reason? = nil) {
        self.subject = subject
        self.state = state
        self.text = text
        self.remedy = remedy
        self.reason = reason
    }

    /// A finding of a failed examination: something needed is missing.
    public init(_ subject: String, _ failure: Failure, remedy: String? = nil) {
        self.init(subject, .missing, failure.message, remedy: remedy, reason: failure.reason)
    }
}

/// The needs of the configured sources and the loaded rules for one connection.
public struct ConnectionNeeds: Sendable {
    public struct SourceNeed: Sendable {
        public var name: String
        public var kind: String
        /// Checked against the kind's manifest.
        public var settings: Settings
        public var schema: TaskSchema

        public init(name: String, kind: String, settings: Settings, schema: TaskSchema) {
            (self.name, self.kind, self.settings, self.schema) = (name, kind, settings, schema)
        }
    }

    public struct ActionNeed: Sendable, Hashable {
        public var rule: String
        /// `comment`, `update`, …
        public var action: String
        public var fields: [String]
        /// Arguments that are the same for every event.
        public var constants: JSON.Object

        public init(rule: String, action: String, fields: [String] = [], constants: JSON.Object = [:]) {
            (self.rule, self.action, self.fields, self.constants) = (rule, action, fields, constants)
        }
    }

    public var sources: [SourceNeed]
    public var actions: [ActionNeed]

    public init(sources: [SourceNeed] = [], actions: [ActionNeed] = []) { (self.sources, self.actions) = (sources, actions) }
}
