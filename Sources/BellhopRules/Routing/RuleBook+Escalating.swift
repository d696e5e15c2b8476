import BellhopCore

extension RuleBook {
    /// The escalations that the event may end, because the task has left, or because somebody other than Bellhop has changed or
    /// commented it. Nil for any other event, and if no rule escalates.
    func escalations(endedBy event: Event) -> StateKey? {
        guard event.isDeparture || event.isAnswer, escalating?.contains(event.source) ?? true,
            let id = event.data[.task]?["id"]?.asString?.nonEmpty
        else { return nil }
        return .escalations(of: TaskKey(id), in: event.source)
    }
}

extension Event {
    fileprivate var isDeparture: Bool { type == .taskRemoved }

    /// Whether somebody other than Bellhop has changed or commented the task. A comment has a mark if Bellhop wrote it; a change
    /// has a hop above 0 if a write of Bellhop led to it.
    fileprivate var isAnswer: Bool {
        if type == .taskCommented { return data[.comment]?["own"] != true }
        return type == .taskChanged && hop == 0
    }
}

extension StateKey {
    /// The escalations of a task, one piece for each rule. Their timers have the same key.
    static func escalations(of task: TaskKey, in source: String) -> StateKey { escalations("\(source)/\(task.text)") }

    static func escalations(_ key: String) -> StateKey { StateKey(rule: "", kind: .escalation, key: key) }
}
