/// The name of a type of event.
public struct EventType: Sendable, Hashable {
    public var name: String
    public init(_ name: String) { self.name = name }

    public static let loginEvent = EventType("login_event")
    public static let keychainLoginEvent = EventType("ks_login_event")
    public static let sessionExpired = EventType("session_expired")
    public static let taskCreated = EventType("task_created")
    public static let taskReturned = EventType("task_returned")
    public static let taskChanged = EventType("task_changed")
    public static let taskRemoved = EventType("task_removed")
    public static let taskCommented = EventType("task_commented")
    public static let pageChanged = EventType("page_changed")
    public static let scheduleDue = EventType("schedule_due")
    public static let sourceFailing = EventType("source_failing")
    public static let sourceRecovered = EventType("source_recovered")
    public static let sourceHeld = EventType("source_held")
    public static let deliveryDead = EventType("delivery_dead")
    public static let receiverPaused = EventType("receiver_paused")
    public static let silenceStarted = EventType("silence_started")
    public static let silenceEnded = EventType("silence_ended")
    public static let receiverResumed = EventType("receiver_resumed")

    /// The type that reports a connection's logins.
    public static func login(usesKeychain: Bool) -> EventType { usesKeychain ? .keychainLoginEvent : .loginEvent }
}
