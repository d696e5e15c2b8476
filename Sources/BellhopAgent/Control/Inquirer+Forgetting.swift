import BellhopCore

extension Inquirer {
    /// Deletes everything that rules keep about the task with this name, in one transaction. A batch that was decided from the deleted rows
    /// meanwhile is decided again.
    func forget(_ name: String) async throws(StoreError) -> JSON {
        let found = try await store.tasks(named: name)
        guard let task = found.first else {
            throw StoreError(.other, "No source has shown a task `\(name)`, and no rule waits for one.")
        }
        guard found.count == 1 else {
            let names = found.map { "\($0.subject) (\($0.title))" }.joined(separator: " or ")
            throw StoreError(.other, "Several tasks are called `\(name)`: give the address of one of them, \(names).")
        }
        let forgotten = try await store.forget(task, at: clock.now)
        return [
            "task": ["id": .string(task.key.text), "number": .string(task.number), "subject": .string(task.subject)],
            "ended": .array(
                forgotten.map {
                    ["rule": .string($0.rule), "part": .string($0.kind?.part ?? "quiet"), "count": .int(Int64($0.count))]
                }),
        ]
    }
}

extension StateKey.Kind {
    /// The part of a rule that keeps state of this kind.
    fileprivate var part: String {
        switch self {
        case .hold: "for"
        case .gathered: "group"
        case .match: "on"
        case .absence, .begun: "none"
        case .escalation, .escalated: "escalate"
        default: rawValue
        }
    }
}
