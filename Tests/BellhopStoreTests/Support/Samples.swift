import BellhopCore

/// Values for tests, distinguished by a number.
enum Sample {
    static let scope = Scope(instance: "https://example.service-now.com", user: "ada", kind: "tracker")
    static let now = Timestamp(seconds: 1_767_603_600)
    static let failure = Failure(.timeout, .retry(after: .seconds(7)), "The other side was silent.")
    static let receipt = Receipt("201, work note", reference: nil)

    /// A message with all its parts.
    static let message = Message(
        title: [.text("A "), .value("<!channel> *x*"), .lineBreak],
        text: [
            .paragraph([
                .strong([.emphasis([.code([.text("deep")])])]),
                .link(label: [.value("l")], address: [.text("https://"), .value("h")]),
            ]),
            .list(ordered: true, items: [[.text("1")], []]), .list(ordered: false, items: []), .paragraph([]),
        ],
        list: Message.List(items: [[.value("a")], []], more: 7, empty: [.text("none")]),
        fields: [.init(name: [.text("State")], value: [.value("New")])],
        sections: [
            .init(),
            .init(
                title: [.text("Old")], text: [.paragraph([.value("b")])], list: Message.List(items: [[.text("c")]]),
                fields: [.init(name: [.text("Age")], value: [.value("4 d")])]),
        ], severity: .critical, link: .init(label: "Open", address: "https://example.com/?a=1&b=\"2\""),
        mentions: [.user("U1"), .group("oncall")], thread: "INC1", update: true, resolve: true, isFallback: true)

    static func key(_ number: Int) -> TaskKey { TaskKey(Fingerprint.of("key", String(number)).hex) }

    static func snapshot(_ number: Int, title: String = "printer on fire") -> Snapshot {
        Snapshot(
            key: key(number), number: "INC\(1000 + number)", title: title, type: "Incident", className: "incident",
            url: "https://example.service-now.com/incident.do?sys_id=\(key(number))",
            fields: ["priority": 1, "active": true, "weight": 1.5, "opened_at": "2026-01-05T09:00:00Z"],
            labels: ["priority": "1 - Critical"])
    }

    static func subject(_ number: Int) -> String { "\(scope.instance)/\(key(number).text)" }

    static func event(
        _ number: Int, type: EventType = .taskCreated, source: String = "tasks", generation: Int = 1, at time: Timestamp = now
    ) -> Event {
        Event(
            id: Event.ID(type: type, facts: scope.id.text, key(number).text, String(generation)), type: type, source: source,
            subject: subject(number), time: time, data: ["task": snapshot(number).json(source: source)])
    }

    static func present(_ number: Int, title: String = "printer on fire", generation: Int64 = 1) -> PollCommit.PresentTask {
        PollCommit.PresentTask(
            text: SnapshotText(snapshot(number, title: title)), listed: .of("listed", title), content: .of("content", title),
            generation: generation, refreshed: now)
    }

    /// A poll that found these tasks as new, and others gone.
    static func poll(_ numbers: [Int], removing gone: [Int] = [], turn: Int64 = 0, at time: Timestamp = now) -> PollCommit {
        PollCommit(
            scope: scope.id, source: "tasks", expectedTurn: turn, at: time, cursor: Cursor(["from": "here"]),
            answer: .of("answer", String(turn)), definitions: FieldDefinitions().updated(to: ["priority": "int priority"]),
            present: numbers.map { present($0) },
            removed: gone.map { .init(key: key($0), snapshot: snapshot($0), generation: 2, reason: .gone) },
            events: numbers.map { event($0) })
    }

    static func reference(_ number: Int) -> TaskReference {
        let snapshot = snapshot(number)
        return TaskReference(
            source: "tasks", key: snapshot.key, number: snapshot.number, title: snapshot.title, className: snapshot.className,
            url: snapshot.url, subject: subject(number))
    }

    private static let effects: [String: Delivery.Effect] = ["comment": .writes, "update": .writes, "create": .makes]

    /// A delivery in a lane of its own, unless a lane is given.
    static func delivery(
        _ number: Int, lane: String? = nil, rule: String = "rule", receiver: String = "chat", action: String = "webhook",
        at time: Timestamp = now, hop: Int = 0, after: [Int] = [], initial: Delivery.InitialState = .available
    ) -> Delivery {
        Delivery(
            id: Delivery.ID(
                occasion: Occasion.event(event(number).id).id, rule: rule, step: StepPath(index: 0), receiver: receiver),
            revision: "r1", action: action, effect: effects[action], arguments: .values(["text": .string("number \(number)")]),
            task: reference(number), lane: lane ?? "lane \(number)", createdAt: time, hop: hop,
            after: after.map { delivery($0).id }, initial: initial)
    }
}
