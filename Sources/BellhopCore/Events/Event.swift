/// Something that happened, as a CloudEvent. Its identity is made of facts, so that the same fact is always the same event.
public struct Event: Sendable, Hashable, Identifiable {
    public struct ID: Sendable, Hashable {
        public var text: String
        public init(_ text: String) { self.text = text }

        /// The identity of a fact: the event's type, and what distinguishes the fact from others of the type.
        public init(type: EventType, facts: String...) { self.init(type: type, facts: facts) }

        init(type: EventType, facts: [String]) { text = Identity.of([type.name] + facts) }
    }

    public var id: ID
    public var type: EventType
    /// The source in bellhop.yaml that saw it; for a login the connection, for a schedule or an emitted event the rule.
    public var source: String
    /// The subject of the event: `INSTANCE/KEY` for a task, the same in every source that shows the task.
    public var subject: String
    /// When it was observed.
    public var time: Timestamp
    public var data: JSON.Object
    /// The number of our own writes and emitted events in the chain that led here: 0 for an external change.
    public var hop: Int
    /// The event whose run of a rule emitted it; nil for any other event.
    public var cause: ID?

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

    /// - Parameter facts: distinguish the event from all others of its type. The same fact, seen again, must give the same facts.
    public init(
        _ content: EventContent, facts: String..., source: String, subject: String, at time: Timestamp, hop: Int = 0
    ) {
        self.init(
            id: ID(type: content.type, facts: facts), type: content.type, source: source, subject: subject, time: time,
            data: content.data, hop: hop)
    }

    /// The event as a CloudEvent (CloudEvents 1.0, JSON format), as `bellhop events --json` prints it and rules see it as
    /// `event`.
    public var cloudEvent: JSON {
        var object: JSON.Object = [
            "specversion": "1.0", "id": .string(id.text), "type": .string(type.name), "source": .string(source),
            "subject": .string(subject), "time": .string(time.rfc3339), "data": .object(data),
        ]
        if let cause { object["cause"] = .string(cause.text) }
        return .object(object)
    }

    /// Reads the form of ``cloudEvent``, ignoring other attributes; nil for anything else.
    public init?(cloudEvent json: JSON) {
        guard let id = json["id"]?.asString, let type = json["type"]?.asString, let source = json["source"]?.asString,
            let subject = json["subject"]?.asString, let data = json["data"]?.asObject,
            let time = json["time"]?.asString.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(id: ID(id), type: EventType(type), source: source, subject: subject, time: time, data: data)
        cause = json["cause"]?.asString.map(ID.init)
    }
}

// MARK: Content

extension Event {
    /// The event's task, if it has one.
    public var task: Snapshot? { data[.task].flatMap(Snapshot.init(json:)) }

    /// Each changed field with its two values, under ``EventKey/from`` and ``EventKey/to``.
    public var changes: JSON.Object? {
        if case .object(let changes)? = data[.changes] { changes } else { nil }
    }

    /// Whether a login succeeded.
    public var isSuccessfulLogin: Bool { (type == .loginEvent || type == .keychainLoginEvent) && data[.ok] == true }
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
