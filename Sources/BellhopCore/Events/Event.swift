/// Something that happened, as a CloudEvent whose identity is made of facts, so that the same fact is the same event.
public struct Event: Sendable, Hashable, Identifiable {
    public struct ID: Sendable, Hashable {
        public var text: String
        public init(_ text: String) { self.text = text }

        /// The identity of a fact: its kind, and what it is about.
        public init(type: EventType, facts: String...) {
            text = Identity.of([type.name] + facts)
        }
    }

    public var id: ID
    public var type: EventType
    /// The source in bellhop.yaml that saw it; for a login the connection, for a schedule the rule.
    public var source: String
    /// What it is about: `INSTANCE/SYS_ID` for a task, the same in every source that shows the task.
    public var subject: String
    /// When it was observed.
    public var time: Timestamp
    public var data: JSON.Object
    /// How many of our own writes led here: 0 for external changes, one more for each write of ours in the chain.
    public var hop: Int

    public init(
        id: ID, type: EventType, source: String, subject: String, time: Timestamp, data: JSON.Object, hop: Int = 0
    ) {
        self.id = id
        self.type = type
        self.source = source
        self.subject = subject
        self.time = time
        self.data = data
        self.hop = hop
    }

    /// The event as a CloudEvent (CloudEvents 1.0, JSON format), as `bellhop events --json` prints it and rules see it as
    /// `event`.
    public var cloudEvent: JSON {
        .object([
            "specversion": "1.0", "id": .string(id.text), "type": .string(type.name), "source": .string(source),
            "subject": .string(subject), "time": .string(time.rfc3339), "data": .object(data),
        ])
    }

    /// The event's task, if it has one.
    public var task: Snapshot? { data["task"].flatMap(Snapshot.init(json:)) }
}

/// An event with its place on the bus.
public struct StoredEvent: Sendable, Hashable {
    /// Its place in storage order. Gaps are normal; never read the bus by "greater than the last".
    public var sequence: Int64
    public var event: Event

    public init(sequence: Int64, event: Event) {
        self.sequence = sequence
        self.event = event
    }
}
