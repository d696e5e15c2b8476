import BellhopCore

/// A rendered list of the Task Tracker and everything it depends on, so that an unchanged world is not rendered again.
struct CachedList: Sendable {
    var revision: Int
    var user: String
    var uri: String
    var body: [UInt8]
}

/// The Task Tracker API ("My Work", scope `x_snc_my_work`): `GET /task` and `POST /task/{id}/comment`.
extension SimulatedInstance.State {
    mutating func tracker(_ path: [String], _ call: InstanceCall) -> Reply {
        let request = call.request
        let isList = path == ["task"]
        guard isList || (path.count == 3 && path[0] == "task" && path[2] == "comment") else { return .noResource }
        guard request.method == (isList ? "GET" : "POST") else { return .wrongMethod }
        guard call.user.mayUseTracker else { return .readRefused }
        guard request.query.isEmpty || call.quirks.contains(.sloppyQueries) else {
            return .error(400, "Simulator: the Task Tracker API takes no query parameters", detail: request.query)
        }
        return isList ? list(call) : comment(on: path[1], call)
    }

    private mutating func list(_ call: InstanceCall) -> Reply {
        counts.lists += 1
        guard call.quirks.isDisjoint(with: [.emptyList, .emptyListCounted]) else { return .json(200, ["result": [:]]) }
        let uri = uri(of: call.request)
        if let cached = cachedList, cached.revision == world.revision, cached.user == call.user.id, cached.uri == uri {
            return Reply(200, type: "application/json;charset=UTF-8", body: cached.body)
        }
        let body = world.trackerList(for: call.user, uri: uri).encoded()
        cachedList = CachedList(revision: world.revision, user: call.user.id, uri: uri, body: body)
        return Reply(200, type: "application/json;charset=UTF-8", body: body)
    }

    private mutating func comment(on key: String, _ call: InstanceCall) -> Reply {
        let (request, user, quirks) = (call.request, call.user, call.quirks)
        if let refusal = wrongBodyType(request) { return refusal }
        guard !request.body.isEmpty else {
            return .error(500, "Cannot read property \"comment\" from null", detail: "No request body")
        }
        let body: JSON
        do { body = try JSON.parse(request.body) } catch {
            return .error(400, "Exception while reading request", detail: "\(error)")
        }
        guard let given = body["comment"], given.isTruthy else {
            let message =
                "Valid inputs not present in request. Comments data not present. Request body must be like {'comments':'My comments here'}"
            return .error(400, message, detail: "")
        }
        let text = given.scalarText ?? given.text
        let written = Reply.json(201, ["data": "Successfully inserted"])
        guard let task = world.task(matching: key), !user.hiddenTasks.contains(task.id) else {
            guard quirks.contains(.blankTaskOnBadID) else { return .error(404, "Task with Record Id not found", detail: "") }
            let blank = world.add(NewTask("task", title: "", openedBy: user.userName), at: call.now)
            world.note(text, .workNotes, on: blank.id, by: user.userName, at: call.now)
            return written
        }
        if user.workNotes == .refused {
            return .error(400, "Error updating comments", detail: "May be ACL restricted updating comments")
        }
        if quirks.contains(.nothingWritten) || user.workNotes == .ignored { return written }
        let stored = quirks.rewriting(text, in: .workNotes)
        if !stored.isEmpty { world.note(stored, .workNotes, on: task.id, by: user.userName, at: call.now) }
        counts.trackerComments += 1
        return written
    }

    /// 415 unless the content type is JSON.
    func wrongBodyType(_ request: ReceivedRequest) -> Reply? {
        guard !request.body.isEmpty, request.header("Content-Type")?.lowercased().contains("json") != true else { return nil }
        return .error(415, "Unsupported media type", detail: "Simulator: Content-Type must be application/json")
    }
}

extension World {
    /// The user's active tasks in order of creation, in groups named by the label of their class.
    func trackerList(for user: SimulatedUser, uri: String) -> JSON {
        let mine = taskOrder.enumerated()
            .compactMap { place, id in tasks[id].map { (place: place, created: $0["sys_created_on"], task: $0) } }
            .filter { $0.task.assignedTo == user.id && $0.task.isActive && !user.hiddenTasks.contains($0.task.id) }
            .sorted { ($0.created, $0.place) < ($1.created, $1.place) }
        var labels: [String] = []
        var groups: [String: [JSON]] = [:]
        for (_, _, task) in mine {
            let label = TaskClass.named(task.table)?.label(in: user.language) ?? task.table
            if groups[label] == nil { labels.append(label) }
            groups[label, default: []].append(trackerRow(task, label: label, user: user, uri: uri))
        }
        return ["result": .object(.init(labels.map { ($0, .array(groups[$0] ?? [])) }))]
    }

    private func trackerRow(_ task: SimulatedTask, label: String, user: SimulatedUser, uri: String) -> JSON {
        func value(_ field: String) -> JSON {
            let raw = user.hiddenFields.contains(field) ? "" : task[field]
            return raw.isEmpty ? .null : .string(raw)
        }
        return [
            "number": value("number"), "short_desc": value("short_description"), "sys_id": .string(task.id),
            "link": .string("\(uri)api/now/v2/table/\(label)/\(task.id)"),
            "snowui": .string("\(uri)\(label).do?sys_id=\(task.id)"), "created": value("sys_created_on"),
        ]
    }
}
