extension SimulatedInstance {
    @discardableResult
    public func addTask(_ task: NewTask) -> SimulatedTask { change { state, now in state.world.add(task, at: now) } }

    /// Adds a task with its main fields.
    @discardableResult
    public func addTask(
        _ table: String = "incident", title: String, priority: Int = 3, assignedTo userName: String? = nil,
        fields: [String: String] = [:]
    ) -> SimulatedTask {
        addTask(NewTask(table, title: title, priority: priority, assignedTo: userName, fields: fields))
    }

    /// Sets raw values like a user's update: the bookkeeping columns follow, closing states make the task inactive. Takes a
    /// sys_id or a number. Nil if there is no such task.
    @discardableResult
    public func updateTask(_ key: String, set values: [String: String], by userName: String = "system") -> SimulatedTask? {
        change { state, now in
            state.world.task(matching: key).flatMap { state.world.update($0.id, set: values, by: userName, at: now) }
        }
    }

    /// Assigns the task to a user by name; nil unassigns it.
    @discardableResult
    public func assign(_ key: String, to userName: String?, by author: String = "system") -> SimulatedTask? {
        let id = userName.flatMap { user($0)?.id } ?? ""
        return updateTask(key, set: ["assigned_to": id], by: author)
    }

    @discardableResult
    public func closeTask(_ key: String, by userName: String = "system") -> SimulatedTask? {
        guard let task = task(key) else { return nil }
        let state = (TaskClass.named(task.table) ?? .task).closingStates.min() ?? "3"
        return updateTask(key, set: ["state": state], by: userName)
    }

    /// Changes only `sys_updated_on`, `sys_updated_by` and `sys_mod_count`.
    public func touchTask(_ key: String, by userName: String = "system") {
        change { state, now in
            if let task = state.world.task(matching: key) { state.world.touch(task.id, by: userName, at: now) }
        }
    }

    /// Sets raw values and nothing else, like a script without workflow, an import or a transaction that commits late.
    @discardableResult
    public func setTask(_ key: String, to values: [String: String]) -> SimulatedTask? {
        change { state, _ in state.world.task(matching: key).flatMap { state.world.set($0.id, to: values) } }
    }

    @discardableResult
    public func deleteTask(_ key: String) -> Bool {
        change { state, _ in state.world.task(matching: key).map { state.world.deleteTask($0.id) } ?? false }
    }

    /// By sys_id or number.
    public func task(_ key: String) -> SimulatedTask? { read { $0.world.task(matching: key) } }

    /// All tasks in the order of creation.
    public var tasks: [SimulatedTask] { read { state in state.world.taskOrder.compactMap { state.world.tasks[$0] } } }

    /// The sys_id of the group of that name, which is created if necessary; for `assignment_group`.
    public func group(_ name: String) -> String { change { state, _ in state.world.group(named: name) } }

    /// Writes into a task's journal as a person would.
    ///
    /// - Parameter secondsAgo: how long ago it was written, if it is committed only now.
    @discardableResult
    public func addNote(
        _ text: String, _ kind: JournalEntry.Kind = .comments, on key: String, by userName: String = "system",
        secondsAgo: Int64 = 0
    ) -> JournalEntry? {
        change { state, now in
            state.world.task(matching: key).flatMap {
                state.world.note(text, kind, on: $0.id, by: userName, at: now - secondsAgo * CivilTime.second)
            }
        }
    }

    /// The files of a task, by sys_id or number, in the order of attaching.
    public func attachments(of key: String) -> [SimulatedAttachment] {
        read { state in
            let id = state.world.task(matching: key)?.id
            return state.world.attachments.filter { $0.task == id }
        }
    }

    /// All comments and work notes in the order of writing.
    public var journal: [JournalEntry] { read(\.world.journal) }

    /// The comments and work notes of a task, by sys_id or number, in the order of writing.
    public func journal(of key: String, _ kind: JournalEntry.Kind? = nil) -> [JournalEntry] {
        read { state in
            let entries = state.world.task(matching: key).map { state.world.journal(of: $0.id) } ?? []
            return entries.filter { kind == nil || $0.kind == kind }
        }
    }
}
