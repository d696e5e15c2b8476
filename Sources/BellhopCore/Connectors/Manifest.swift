/// A kind of connection, as declared by its connector.
public struct ConnectionManifest: Sendable, Hashable {
    public var kind: String
    public var summary: String
    /// The kinds of action that it accepts.
    public var actions: [String]
    /// The features of `notify` messages that it supports; nil for a system of record, which accepts no messages.
    public var messages: MessageAbilities?
    public var limits: DeliveryLimits
    public var settings: [Setting]
    /// The addresses of the service's own servers, for the setting `url`.
    public var addresses: [ServiceAddress]
    /// The settings that `bellhop init` writes; nil for those that are required.
    public var starter: [String]?

    public init(
        kind: String, summary: String, actions: [String], messages: MessageAbilities? = nil,
        limits: DeliveryLimits = DeliveryLimits(), settings: [Setting], addresses: [ServiceAddress] = [],
        starter: [String]? = nil
    ) {
        self.kind = kind
        self.summary = summary
        self.actions = actions
        self.messages = messages
        self.limits = limits
        self.settings = settings
        self.addresses = addresses
        self.starter = starter
    }

    /// Whether its messages are alerts that call people, who acknowledge them.
    public var callsPeople: Bool { actions.contains("acknowledge") }
}

/// A kind of source, as declared by its connector.
public struct SourceManifest: Sendable, Hashable {
    public var kind: String
    public var summary: String
    /// The kinds of connection it reads from.
    public var connections: [String]
    /// Whether its tasks have labels in addition to values.
    public var labels: Ability
    /// Whether it reports new comments on its tasks.
    public var comments: Ability
    public var settings: [Setting]

    public init(
        kind: String, summary: String, connections: [String], labels: Ability = .no, comments: Ability = .no, settings: [Setting]
    ) {
        self.kind = kind
        self.summary = summary
        self.connections = connections
        self.labels = labels
        self.comments = comments
        self.settings = settings
    }
}

/// A kind of action, as declared by its connector.
public struct ActionManifest: Sendable, Hashable {
    /// Who receives a step of this kind.
    public enum Receiver: Sendable, Hashable {
        /// The connection of the source that showed the task.
        case taskConnection
        /// The connections named by `to`: one delivery each.
        case named
        /// The connection named by `to`, or else the address in `url`.
        case namedOrAddress
        /// Something on this machine; the delivery is named after this argument's value, if there is one, or after the action.
        case local(String?)
    }

    /// The internal argument which says that the host of `url` comes from a value.
    public static let computedHost = "computed_host"

    public var kind: String
    public var summary: String
    public var receiver: Receiver
    /// The argument that a bare value stands for: `comment: Thanks` is `comment: {text: Thanks}`, and `update: {state: 2}` is
    /// `update: {fields: {state: 2}}`.
    public var shorthand: String?
    public var arguments: [Setting]
    /// The effect on tasks; nil if there is none. Rules that trigger each other through it are stopped.
    public var effect: Delivery.Effect?
    /// True when it makes an event (``Delivery/emittedEvent(at:)``), which is stored together with the run.
    public var emitsEvent: Bool
    /// The setting of bellhop.yaml that allows it; nil if it needs none.
    public var permission: String?
    /// The argument that is a program with its arguments; the program itself must be literal text.
    public var program: String?
    /// Names not allowed in its `fields`, each with what to do instead.
    public var refusedFields: [String: String]
    /// True when its arguments become a message tree.
    public var isMessage: Bool
    /// How long after its creation a delivery is still sent, unless the step says otherwise.
    public var expires: Duration?
    /// When a step of this kind is retried, unless it says otherwise.
    public var retry: RetryPolicy
    /// Arguments of which at most one may be given.
    public var exclusive: [[String]]

    public init(
        kind: String, summary: String, receiver: Receiver, shorthand: String? = nil, arguments: [Setting],
        effect: Delivery.Effect? = nil, emitsEvent: Bool = false, permission: String? = nil, program: String? = nil,
        refusedFields: [String: String] = [:], isMessage: Bool = false, expires: Duration? = nil,
        retry: RetryPolicy = .standard, exclusive: [[String]] = []
    ) {
        self.kind = kind
        self.summary = summary
        self.receiver = receiver
        self.shorthand = shorthand
        self.arguments = arguments
        self.effect = effect
        self.emitsEvent = emitsEvent
        self.permission = permission
        self.program = program
        self.refusedFields = refusedFields
        self.isMessage = isMessage
        self.expires = expires
        self.retry = retry
        self.exclusive = exclusive
    }
}
