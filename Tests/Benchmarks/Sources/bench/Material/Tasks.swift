import BellhopCore

/// Tasks as the Table API returns them, and the events about them.
enum Tasks {
    static let source = "my-work"
    static let scope = Scope(instance: "https://acme.service-now.com", user: "john.doe", kind: "tracker")

    /// The fields of a tracker whose configuration names no fields.
    static let schema = TaskSchema([
        .init("number", .text), .init("short_description", .text), .init("sys_class_name", .text), .init("priority", .int),
        .init("urgency", .int), .init("impact", .int), .init("state", .int), .init("active", .bool), .init("assigned_to", .text),
        .init("assignment_group", .text), .init("opened_by", .text), .init("opened_at", .timestamp),
        .init("due_date", .timestamp), .init("sys_created_on", .timestamp), .init("sys_updated_on", .timestamp),
    ])

    static func snapshot(
        _ number: Int, key: TaskKey, group: String = "service-desk", owner: String = "john.doe", priority: Int64 = 3
    ) -> Snapshot {
        let name = "INC\(1_000_000 + number)"
        let title = "The printer on floor \(number % 37) prints nothing but blank pages since the last update"
        return Snapshot(
            key: key, number: name, title: title, type: "Incident", className: "incident",
            url: "https://acme.service-now.com/nav_to.do?uri=task.do%3Fsys_id%3D\(key.text)",
            fields: [
                "number": .string(name), "short_description": .string(title), "sys_class_name": "incident",
                "priority": .int(priority), "urgency": 2, "impact": 2, "state": 1, "active": true, "assigned_to": .string(owner),
                "assignment_group": .string(group), "opened_by": "jane.roe", "opened_at": "2026-01-05T08:52:12Z",
                "due_date": .null, "sys_created_on": "2026-01-05T08:52:12Z", "sys_updated_on": "2026-01-05T08:59:40Z",
            ])
    }

    /// The event for a snapshot of a new task, or of one that changed from state 1 to 2.
    static func event(_ type: EventType, _ snapshot: Snapshot, at time: Timestamp) -> Event {
        var data: JSON.Object = ["task": snapshot.json(source: source)]
        if type == .taskChanged {
            data["before"] = snapshot.json(source: source)
            data["changes"] = ["state": ["from": 1, "to": 2]]
        }
        return Event(
            id: Event.ID(type: type, facts: source, scope.id.text, snapshot.key.text, "1"), type: type, source: source,
            subject: "\(scope.instance)/\(snapshot.key.text)", time: time, data: data)
    }

    /// The commit of a poll that found these tasks new or changed.
    static func poll(_ snapshots: [Snapshot], events: [Event] = [], turn: Int64, at time: Timestamp) -> PollCommit {
        let present = snapshots.map { snapshot in
            let text = SnapshotText(snapshot)
            let (mark, content) = (Fingerprint(content: snapshot.key.text), text.fingerprint)
            return PollCommit.PresentTask(text: text, listed: mark, content: content, generation: 1, refreshed: time)
        }
        return PollCommit(
            scope: scope.id, source: source, expectedTurn: turn, at: time, answer: Fingerprint(content: "answer"),
            present: present, events: events)
    }

    /// Tasks that are all different.
    static func keys(_ count: Int, seed: UInt64) -> [TaskKey] {
        var random = SeededRandom(seed: seed)
        return (0..<count).map { _ in TaskKey(random.hex()) }
    }
}

extension Store {
    func append(_ events: [Event], inBatchesOf size: Int) async throws {
        for start in stride(from: 0, to: events.count, by: size) {
            try await append(Array(events[start..<min(start + size, events.count)]))
        }
    }
}
