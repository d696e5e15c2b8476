import BellhopCore

extension SimulatedInstance.State {
    /// PATCH and PUT of a task: both partial, both answered with the updated record.
    mutating func write(_ id: String, table: String, _ call: InstanceCall, shape: FieldShape) -> Reply {
        let user = call.user
        guard Schema.isTask(table) else { return Self.refusedUpdate }
        if let refusal = wrongBodyType(call.request) { return refusal }
        guard let task = world.tasks[id], table == "task" || task.table == table, !user.hiddenTasks.contains(id),
            user.tasks != .hidden
        else { return .noRecord }
        let changes: [Change]
        do { changes = try self.changes(call, table: task.table, shape: shape) } catch {
            return .error(400, "Simulator: \(error.message)", detail: nil)
        }
        if call.quirks.contains(.dataPolicy) { return Self.refusedByPolicy }
        let refused = changes.contains { writing($0.field, by: user) == .refused }
        guard !refused, user.tasks != .forbidden else { return Self.refusedUpdate }
        if !call.quirks.contains(.nothingWritten) {
            let written = changes.filter { writing($0.field, by: user) == .allowed }
            let values = written.filter { $0.field.kind != .journal }.map { ($0.field.name, $0.value) }
            let updated = world.update(id, set: Dictionary(values) { $1 }, by: user.userName, at: call.now)
            note(written, on: id, call, touching: updated?.updates == task.updates)
        }
        return record(id, in: table, shape: shape, status: 200)
    }

    /// POST of a task: 201 with the record and its address.
    mutating func create(in table: String, _ call: InstanceCall, shape: FieldShape) -> Reply {
        let user = call.user
        if let refusal = wrongBodyType(call.request) { return refusal }
        guard Schema.isTask(table), user.creates != .refused, user.tasks != .forbidden else { return .insertRefused }
        let changes: [Change]
        do { changes = try self.changes(call, table: table, shape: shape) } catch {
            return .error(400, "Simulator: \(error.message)", detail: nil)
        }
        if call.quirks.contains(.dataPolicy) { return Self.refusedByPolicy }
        let written = changes.filter { writing($0.field, by: user) == .allowed }
        let values = written.filter { $0.field.kind != .journal }.map { ($0.field.name, $0.value) }
        let task = world.add(NewTask(table, title: "", openedBy: user.userName, fields: Dictionary(values) { $1 }), at: call.now)
        note(written, on: task.id, call, touching: false)
        return record(task.id, in: table, shape: shape, status: 201)
            .with("Location", "\(shape.uri)api/now/table/\(table)/\(task.id)")
    }

    private static let refusedUpdate = Reply.error(
        403, "Operation Failed", detail: "ACL Exception Update Failed due to security constraints")

    private static let refusedByPolicy = Reply.error(
        403, "Operation Failed", detail: "Data Policy Exception: The following fields are mandatory: Resolution code")

    /// A column and its new raw value.
    private struct Change {
        var field: Field
        var value: String
    }

    private mutating func note(_ changes: [Change], on id: String, _ call: InstanceCall, touching: Bool) {
        var touching = touching
        for change in changes {
            guard let kind = JournalEntry.Kind(rawValue: change.field.name) else { continue }
            let text = call.quirks.rewriting(change.value, in: kind)
            if !text.isEmpty {
                world.note(text, kind, on: id, by: call.user.userName, at: call.now, touching: touching)
                touching = false
            }
        }
    }

    private func record(_ id: String, in table: String, shape: FieldShape, status: Int) -> Reply {
        var after = shape
        after.world = world
        guard let record = world.record(id, in: table) else { return Reply(204) }
        return .json(status, ["result": after.row(record, table: table)])
    }

    private func writing(_ field: Field, by user: SimulatedUser) -> SimulatedUser.Writing {
        if user.readOnlyFields.contains(field.name) { return .ignored }
        return switch field.name {
        case "work_notes": user.workNotes
        case "comments": user.comments
        default: user.updates
        }
    }

    private func changes(_ call: InstanceCall, table: String, shape: FieldShape) throws(QueryProblem) -> [Change] {
        let body: JSON
        do { body = try JSON.parse(call.request.body) } catch {
            throw QueryProblem(message: "\(error)")
        }
        guard let members = body.asObject else { throw QueryProblem(message: "the body is not a JSON object") }
        var changes: [Change] = []
        for (name, given) in members {
            guard let field = Schema.tables[table]?[name], !field.isSystem, let text = given.scalarText else {
                if call.quirks.contains(.sloppyQueries) { continue }
                throw QueryProblem(message: "'\(name)' cannot be written on table '\(table)'")
            }
            var value = shape.parameters.inputsDisplay ? shape.raw(of: text, field, in: table) : text
            for case .businessRule(let name, let other) in call.quirks where name == field.name { value = other }
            changes.append(Change(field: field, value: value))
        }
        return changes
    }
}

extension FieldShape {
    /// The raw value of a display value: a choice's label, a record's name, a time in the user's zone.
    func raw(of text: String, _ field: Field, in table: String) -> String {
        switch field.kind {
        case .choice: Schema.choices(of: field.name, in: table).first { $0.label == text }?.value ?? text
        case .reference(let target):
            world.records(of: target, keys: [:]).first { displayName($0.id, in: target) == text }?.id ?? text
        case .dateTime: CivilTime.read(text).map { CivilTime.text($0 - Int64(user.utcOffset) * CivilTime.minute) } ?? text
        case .string, .integer, .boolean, .identifier, .className, .journal: text
        }
    }
}
