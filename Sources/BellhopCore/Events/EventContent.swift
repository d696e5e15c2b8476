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
            .taskChanged,
            [.task: task.json(source: source), .before: before.json(source: source), .changes: .object(changed)])
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
                        .time: time.map { .string($0.rfc3339) } ?? .null, .own: .bool(own), .proved: .bool(proved),
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
        Self(
            .sourceRecovered,
            [.source: .string(source), .error: .string(error), .since: .string(since.rfc3339)])
    }

    public static func sourceHeld(_ source: String, _ held: HeldResult) -> Self {
        let counts = JSON.Object([
            .known: .int(Int64(held.known)), .new: .int(Int64(held.new)), .gone: .int(Int64(held.gone)),
            .changed: .int(Int64(held.changed)),
        ])
        return Self(
            .sourceHeld,
            [.source: .string(source), .counts: .object(counts), .fields: .array(held.fields.map(JSON.string))])
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
                .receiver: .string(stop.receiver), .reason: .string(stop.why), .by: .string(stop.cause.rawValue),
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
