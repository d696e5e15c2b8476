import BellhopCore

extension AdminAPI {
    func tasks(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let instance = simulation.instance
        switch (request.method, path.count) {
        case ("GET", 1): return .json(200, .array(instance.tasks.map(\.json)))
        case ("POST", 1): return .json(201, instance.addTask(try newTask(request)).json)
        default: break
        }
        guard path.count > 1, let task = instance.task(path[1]) else {
            throw path.count > 1 ? AdminProblem(status: 404, message: "no task '\(path[1])'") : AdminAPI.unknown(request)
        }
        switch (request.method, path.count, path.last) {
        case ("GET", 2, _): return .json(200, task.json)
        case ("PATCH", 2, _): return .json(200, try change(task, request).json)
        case ("DELETE", 2, _):
            instance.deleteTask(task.id)
            return Reply(204)
        case ("GET", 3, "journal"): return .json(200, .array(instance.journal(of: task.id).map(\.json)))
        case ("POST", 3, "journal"):
            var form = try AdminForm(request)
            let text = try form.requiredText("text")
            let kind = try form.choice("kind", JournalEntry.Kind.self) ?? .comments
            let author = try form.text("by") ?? "system"
            try form.end()
            return .json(201, instance.addNote(text, kind, on: task.id, by: author)?.json ?? .null)
        default: throw AdminAPI.unknown(request)
        }
    }

    private func newTask(_ request: ReceivedRequest) throws(AdminProblem) -> NewTask {
        var form = try AdminForm(request)
        let table = try form.text("table") ?? "incident"
        guard Schema.isTask(table) else { throw AdminProblem(message: "'\(table)' is not a table of tasks") }
        let task = NewTask(
            table, title: try form.text("title") ?? "", priority: try form.int("priority") ?? 3,
            assignedTo: try userName("assigned_to", &form), openedBy: try userName("opened_by", &form),
            sysID: try form.text("sys_id"), fields: try columns("fields", of: table, &form))
        try form.end()
        return task
    }

    private func change(_ task: SimulatedTask, _ request: ReceivedRequest) throws(AdminProblem) -> SimulatedTask {
        let instance = simulation.instance
        var form = try AdminForm(request)
        let author = try form.text("by") ?? "system"
        let values = try columns("set", of: task.table, &form)
        let isAssigned = form.has("assign")
        let assignee = try userName("assign", &form)
        let closes = try form.bool("close") ?? false
        let touches = try form.bool("touch") ?? false
        try form.end()
        if !values.isEmpty { instance.updateTask(task.id, set: values, by: author) }
        if isAssigned { instance.assign(task.id, to: assignee, by: author) }
        if closes { instance.closeTask(task.id, by: author) }
        if touches { instance.touchTask(task.id, by: author) }
        return instance.task(task.id) ?? task
    }

    private func userName(_ name: String, _ form: inout AdminForm) throws(AdminProblem) -> String? {
        guard let user = try form.text(name) else { return nil }
        guard simulation.instance.user(user) != nil else { throw AdminProblem(message: "no user '\(user)'") }
        return user
    }

    private func columns(_ name: String, of table: String, _ form: inout AdminForm) throws(AdminProblem) -> [String: String] {
        let values = try form.values(name) ?? [:]
        if let unknown = values.keys.filter({ Schema.tables[table]?[$0] == nil }).min() {
            throw AdminProblem(message: "no field '\(unknown)' on table '\(table)'")
        }
        return values
    }
}
