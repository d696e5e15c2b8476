import BellhopCore

/// All records of the simulated instance: a value, changed only through its methods, which keep the bookkeeping columns.
struct World: Sendable {
    private(set) var tasks: [String: SimulatedTask] = [:]
    /// sys_ids in the order of creation.
    private(set) var taskOrder: [String] = []
    private(set) var users: [String: SimulatedUser] = [:]
    private(set) var userOrder: [String] = []
    /// sys_id to name.
    private(set) var groups: [String: String] = [:]
    private(set) var journal: [JournalEntry] = []
    private(set) var attachments: [SimulatedAttachment] = []
    /// The content of `sys_security_acl`; nil if no user may read it.
    var accessRules: [SimulatedAccessRule]?
    /// Labels of columns that differ from the ``Schema``.
    var labels: [String: String] = [:]
    /// The positions in `journal` of each task's entries.
    private var journalOfTask: [String: [Int]] = [:]
    private var taskOfNumber: [String: String] = [:]
    private var lastNumber: [String: Int] = [:]
    private var random: SeededRandom
    /// Increases with every change, so that an answer can be cached until then.
    private(set) var revision = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func makeID() -> String { random.hex() }

    // MARK: Users and groups

    /// The user of that name, whose case does not matter, as at a login to the real server.
    func user(named userName: String) -> SimulatedUser? {
        if let user = users.values.first(where: { $0.userName == userName }) { return user }
        let folded = userName.lowercased()
        return users.values.first { $0.userName.lowercased() == folded }
    }

    mutating func put(_ user: SimulatedUser) {
        if users.updateValue(user, forKey: user.id) == nil { userOrder.append(user.id) }
        revision += 1
    }

    /// The sys_id of the group of that name, which is created if necessary.
    mutating func group(named name: String) -> String {
        if let known = groups.first(where: { $0.value == name }) { return known.key }
        let id = makeID()
        groups[id] = name
        revision += 1
        return id
    }

    // MARK: Tasks

    /// Finds a task by its sys_id or else by its number, like `GlideRecord.get` with one argument.
    func task(matching key: String) -> SimulatedTask? { tasks[key] ?? taskOfNumber[key].flatMap { tasks[$0] } }

    mutating func add(_ new: NewTask, at now: Int64) -> SimulatedTask {
        let kind = TaskClass.named(new.table) ?? .task
        let id = new.sysID ?? makeID()
        let opener = new.openedBy.flatMap { user(named: $0) }
        let time = CivilTime.text(now)
        let level = String(min(max(new.priority, 1), 3))
        var fields = [
            "sys_id": id, "sys_class_name": new.table, "short_description": new.title, "priority": String(new.priority),
            "urgency": level, "impact": level, "state": kind.openState, "active": "true", "opened_at": time,
            "sys_created_on": time, "sys_updated_on": time, "sys_mod_count": "0",
            "sys_created_by": opener?.userName ?? "system", "sys_updated_by": opener?.userName ?? "system",
            "opened_by": opener?.id ?? "", "assigned_to": new.assignedTo.flatMap { user(named: $0)?.id } ?? "",
        ]
        if new.table == "incident" { fields["caller_id"] = opener?.id ?? "" }
        fields.merge(new.fields) { $1 }
        fields["number"] = new.fields["number"] ?? makeNumber(for: kind)
        let task = SimulatedTask(id: id, fields: fields)
        if tasks.updateValue(task, forKey: id) == nil { taskOrder.append(id) }
        taskOfNumber[task.number] = id
        revision += 1
        return task
    }

    private mutating func makeNumber(for kind: TaskClass) -> String {
        repeat {
            let next = (lastNumber[kind.prefix] ?? 10_000) + 1
            lastNumber[kind.prefix] = next
            let digits = String(next)
            let number = kind.prefix + String(repeating: "0", count: max(0, 7 - digits.utf8.count)) + digits
            if taskOfNumber[number] == nil { return number }
        } while true
    }

    /// Sets columns like a user's update. Nil if there is no such task; setting an unchanged value is not an update.
    @discardableResult
    mutating func update(_ id: String, set values: [String: String], by userName: String, at now: Int64) -> SimulatedTask? {
        guard var task = tasks[id] else { return nil }
        var values = values
        let kind = TaskClass.named(task.table) ?? .task
        if let state = values["state"], values["active"] == nil, kind.closingStates.contains(state) {
            values["active"] = "false"
            values["closed_at"] = CivilTime.text(now)
        }
        guard values.contains(where: { task[$0.key] != $0.value }) else { return task }
        if let number = values["number"] {
            taskOfNumber[task.number] = nil
            taskOfNumber[number] = id
        }
        task.fields.merge(values) { $1 }
        tasks[id] = task
        touch(id, by: userName, at: now)
        return tasks[id]
    }

    /// Changes only the bookkeeping columns.
    mutating func touch(_ id: String, by userName: String, at now: Int64) {
        guard var task = tasks[id] else { return }
        task.fields["sys_updated_on"] = CivilTime.text(now)
        task.fields["sys_updated_by"] = userName
        task.fields["sys_mod_count"] = String(task.updates + 1)
        tasks[id] = task
        revision += 1
    }

    /// Sets raw values; the bookkeeping columns change only if they are among them.
    mutating func set(_ id: String, to values: [String: String]) -> SimulatedTask? {
        guard var task = tasks[id] else { return nil }
        task.fields.merge(values) { $1 }
        tasks[id] = task
        revision += 1
        return task
    }

    @discardableResult
    mutating func deleteTask(_ id: String) -> Bool {
        guard let task = tasks.removeValue(forKey: id) else { return false }
        taskOfNumber[task.number] = nil
        taskOrder.removeAll { $0 == id }
        revision += 1
        return true
    }

    /// Adds a file to a task; the task itself does not change.
    mutating func attach(_ attachment: SimulatedAttachment) {
        attachments.append(attachment)
        revision += 1
    }

    // MARK: Journal

    func journal(of task: String) -> [JournalEntry] { (journalOfTask[task] ?? []).map { journal[$0] } }

    /// Adds an entry and touches the task, like the journal fields. Nil if there is no such task.
    ///
    /// - Parameter touching: false if the entry is part of an update that has already touched the task.
    @discardableResult
    mutating func note(
        _ text: String, _ kind: JournalEntry.Kind, on id: String, by userName: String, at now: Int64, touching: Bool = true
    ) -> JournalEntry? {
        guard let task = tasks[id] else { return nil }
        let entry = JournalEntry(id: makeID(), task: id, table: task.table, kind: kind, text: text, author: userName, time: now)
        journalOfTask[id, default: []].append(journal.count)
        journal.append(entry)
        revision += 1
        if touching { touch(id, by: userName, at: now) }
        return entry
    }
}
