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
            let time = json["time"]?.asMoment
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
    public var changes: JSON.Object? { if case .object(let changes)? = data[.changes] { changes } else { nil } }

    /// Whether a login succeeded.
    public var isSuccessfulLogin: Bool { (type == .loginEvent || type == .keychainLoginEvent) && data[.ok] == true }
}

/// An event with its place on the bus.
public struct StoredEvent: Sendable, Hashable {
    /// Its place in storage order. Gaps are normal; never read the bus by "greater than the last".
    public var sequence: Int64
    public var event: Event

    public init(sequence: Int64, event: Event) { (self.sequence, self.event) = (sequence, event) }
}

/// The content of an event: its type and its `data`. One function makes each type, with the members that ``EventCatalogue`` declares.
public struct EventContent: Sendable, Hashable {
    public let type: EventType
    public let data: JSON.Object

    private init(_ type: EventType, _ data: KeyValuePairs<EventKey, JSON?>) {
        self.type = type
        self.data = JSON.Object(data)
    }
}

// MARK: Tasks and pages

extension EventContent {
    public static func taskCreated(_ task: Snapshot, in source: String) -> Self {
        Self(.taskCreated, [.task: task.json(source: source)])
    }

    public static func taskReturned(_ task: Snapshot, removed: Timestamp, in source: String) -> Self {
        Self(.taskReturned, [.task: task.json(source: source), .removed: .string(removed.rfc3339)])
    }

    public static func taskChanged(
        _ task: Snapshot, before: Snapshot, _ changes: [Change.FieldChange], in source: String
    ) -> Self {
        var changed: JSON.Object = [:]
        for change in changes { changed[change.field] = .object(JSON.Object([.from: change.from, .to: change.to])) }
        return Self(
            .taskChanged, [.task: task.json(source: source), .before: before.json(source: source), .changes: .object(changed)])
    }

    public static func taskRemoved(_ task: Snapshot, _ reason: RemovalReason, in source: String) -> Self {
        Self(.taskRemoved, [.task: task.json(source: source), .reason: .string(reason.rawValue)])
    }

    /// - Parameters:
    ///   - time: nil only in tests of rules.
    ///   - own: whether one of our deliveries wrote it.
    public static func taskCommented(
        _ task: Snapshot, _ text: String, author: String, kind: String, time: Timestamp?, own: Bool, proved: Bool,
        in source: String
    ) -> Self {
        Self(
            .taskCommented,
            [
                .task: task.json(source: source),
                .comment: .object(
                    JSON.Object([
                        .text: .string(text), .author: .string(author), .kind: .string(kind),
                        .time: .optional(time?.rfc3339), .own: .bool(own), .proved: .bool(proved),
                    ])),
            ])
    }

    public static func pageChanged(_ page: Snapshot, before: String, in source: String) -> Self {
        let after = page.pageText
        let head = JSON.Object([.url: .string(page.url), .title: .string(page.title), .source: .string(source)])
        return Self(
            .pageChanged,
            [
                .page: .object(head), .before: .string(before), .after: .string(after),
                .diff: .string(LineDiff(from: before, to: after).unified()),
            ])
    }
}

// MARK: Logins

extension EventContent {
    public static func login(connection: String, user: String, usesKeychain: Bool, failure: Failure?) -> Self {
        Self(
            EventType.login(usesKeychain: usesKeychain),
            [
                .connection: .string(connection), .user: .string(user), .ok: .bool(failure == nil),
                .reason: .string(failure?.message ?? ""), .code: .string(failure?.reason.rawValue ?? ""),
            ])
    }

    public static func sessionExpired(connection: String, user: String, reason: String, code: Failure.Reason) -> Self {
        Self(
            .sessionExpired,
            [
                .connection: .string(connection), .user: .string(user), .reason: .string(reason),
                .code: .string(code.rawValue),
            ])
    }
}

// MARK: Sources, schedules, deliveries

extension EventContent {
    public static func sourceFailing(_ source: String, _ failure: Failure, since: Timestamp) -> Self {
        Self(
            .sourceFailing,
            [
                .source: .string(source), .error: .string(failure.message), .reason: .string(failure.reason.rawValue),
                .since: .string(since.rfc3339),
            ])
    }

    public static func sourceRecovered(_ source: String, error: String, since: Timestamp) -> Self {
        Self(.sourceRecovered, [.source: .string(source), .error: .string(error), .since: .string(since.rfc3339)])
    }

    public static func sourceHeld(_ source: String, _ held: HeldResult) -> Self {
        let counts = JSON.Object([
            .known: .int(Int64(held.known)), .new: .int(Int64(held.new)), .gone: .int(Int64(held.gone)),
            .changed: .int(Int64(held.changed)),
        ])
        return Self(
            .sourceHeld, [.source: .string(source), .counts: .object(counts), .fields: .array(held.fields.map(JSON.string))])
    }

    public static func scheduleDue(_ due: Timestamp, missed: Int) -> Self {
        Self(.scheduleDue, [.due: .string(due.rfc3339), .missed: .int(Int64(missed))])
    }

    public static func deliveryDead(_ delivery: Delivery, _ failure: Failure) -> Self {
        let id = delivery.id
        let facts = JSON.Object([
            .id: .string(id.text), .rule: .string(id.rule), .action: .string(delivery.action),
            .receiver: .string(id.receiver), .occasion: .string(id.occasion.text),
        ])
        let error = JSON.Object([.reason: .string(failure.reason.rawValue), .message: .string(failure.message)])
        let task = delivery.task.map { task in
            Snapshot(key: task.key, number: task.number, title: task.title, className: task.className, url: task.url)
                .json(source: task.source)
        }
        return Self(.deliveryDead, [.delivery: .object(facts), .error: .object(error), .task: task])
    }

    public static func receiverPaused(_ stop: ReceiverStop) -> Self {
        Self(
            .receiverPaused,
            [
                .receiver: .string(stop.receiver), .reason: .string(stop.reason), .by: .string(stop.cause.rawValue),
                .since: .string(stop.since.rfc3339),
            ])
    }

    public static func silenceStarted(_ silence: Silence) -> Self {
        Self(.silenceStarted, [.silence: .object(silence.json)])
    }

    public static func silenceEnded(_ record: SilenceRecord) -> Self {
        var silence = record.silence.json
        silence[.kept] = .int(Int64(record.kept))
        return Self(.silenceEnded, [.silence: .object(silence)])
    }

    public static func receiverResumed(_ receiver: String) -> Self {
        Self(.receiverResumed, [.receiver: .string(receiver)])
    }
}
