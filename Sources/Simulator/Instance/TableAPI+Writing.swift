extension SimulatedInstance.State {
    /// PATCH and PUT of a task: both partial, both answered with the record as it is then.
    mutating func write(
        _ id: String, table: String, _ request: ReceivedRequest, shape: FieldShape, quirks: Set<Fault>, at now: Int64
    ) -> Reply {
        let user = shape.user
        guard Schema.isTask(table) else {
            return .error(403, "Operation Failed", detail: "ACL Exception Update Failed due to security constraints")
        }
        if let refusal = wrongBodyType(request) { return refusal }
        guard let task = world.tasks[id], table == "task" || task.table == table, !user.hiddenTasks.contains(id),
            user.tasks != .hidden
        else {
            return .error(404, "No Record found", detail: "Record doesn't exist or ACL restricts the record retrieval")
        }
        let changes: [(Field, String)]
        do { changes = try fields(of: request, task: task, sloppy: quirks.contains(.sloppyQueries)) } catch {
            return .error(400, "Simulator: \(error.message)", detail: nil)
        }
        let refused = changes.contains { field, _ in writing(field, by: user) == .refused }
        guard !refused, user.tasks != .forbidden else {
            return .error(403, "Operation Failed", detail: "ACL Exception Update Failed due to security constraints")
        }
        if !quirks.contains(.nothingWritten) {
            let written = changes.filter { writing($0.0, by: user) == .allowed }
            let values = written.filter { $0.0.kind != .journal }.map { ($0.0.name, $0.1) }
            let updated = world.update(id, set: Dictionary(values) { $1 }, by: user.userName, at: now)
            var isTouched = updated?.updates != task.updates
            for (field, text) in written {
                if !text.isEmpty, let kind = JournalEntry.Kind(rawValue: field.name) {
                    world.note(text, kind, on: id, by: user.userName, at: now, touching: !isTouched)
                    isTouched = true
                }
            }
        }
        var after = shape
        after.world = world
        guard let record = world.record(id, in: table) else { return Reply(204) }
        return .json(200, ["result": after.row(record, table: table)])
    }

    private func writing(_ field: Field, by user: SimulatedUser) -> SimulatedUser.Writing {
        switch field.name {
        case "work_notes": user.workNotes
        case "comments": user.comments
        default: user.updates
        }
    }

    private func fields(
        of request: ReceivedRequest, task: SimulatedTask, sloppy: Bool
    ) throws(QueryProblem) -> [(Field, String)] {
        let body: JSON
        do { body = try JSONReader.read(request.body) } catch {
            throw QueryProblem(message: "the body is no JSON: \(error.message) at byte \(error.offset)")
        }
        guard let members = body.members else { throw QueryProblem(message: "the body is no JSON object") }
        var changes: [(Field, String)] = []
        for member in members {
            guard let field = Schema.tables[task.table]?[member.name], !field.isSystem, let text = member.value.scalarText else {
                if sloppy { continue }
                throw QueryProblem(message: "'\(member.name)' cannot be written on table '\(task.table)'")
            }
            changes.append((field, text))
        }
        return changes
    }
}
