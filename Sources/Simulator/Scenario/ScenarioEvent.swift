/// An action of people on the instance.
public enum ScenarioEvent: Sendable, Hashable {
    /// A task is opened; its sys_id is given, so that later events can refer to it.
    case opened(NewTask)
    /// Columns get raw values.
    case changed(task: String, set: [String: String], by: String)
    /// The task is assigned to a user by name, or unassigned if nil.
    case assigned(task: String, to: String?, by: String)
    case noted(task: String, text: String, kind: JournalEntry.Kind, by: String)
    case closed(task: String, by: String)
    case deleted(task: String)
}

extension SimulatedInstance {
    /// Applies an event now; if its task no longer exists, nothing changes.
    public func apply(_ event: ScenarioEvent) {
        switch event {
        case .opened(let task): addTask(task)
        case .changed(let task, let values, let author): updateTask(task, set: values, by: author)
        case .assigned(let task, let userName, let author): assign(task, to: userName, by: author)
        case .noted(let task, let text, let kind, let author): addNote(text, kind, on: task, by: author)
        case .closed(let task, let author): closeTask(task, by: author)
        case .deleted(let task): deleteTask(task)
        }
    }
}
