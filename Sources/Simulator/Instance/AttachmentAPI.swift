import BellhopCore
import Crypto

/// The Attachment API: `GET /api/now/attachment`, `GET …/{sys_id}[/file]`, `POST …/file`.
extension SimulatedInstance.State {
    mutating func attachment(_ path: [String], _ call: InstanceCall) -> Reply {
        switch (call.request.method, path.count) {
        case ("GET", 0...1): return table(["sys_attachment"] + path, call, version: "v2")
        case ("POST", 1) where path[0] == "file": return attach(call)
        case ("GET", 2) where path[1] == "file":
            guard let file = world.attachments.first(where: { $0.id == path[0] }) else { return .noRecord }
            return Reply(200, type: file.type, body: file.bytes)
        default: return .wrongMethod
        }
    }

    private mutating func attach(_ call: InstanceCall) -> Reply {
        let (request, user) = (call.request, call.user)
        let known: Set<String> = ["table_name", "table_sys_id", "file_name", "encryption_context", "creation_time"]
        if let unknown = request.parameters.first(where: { !known.contains($0.name) }), !call.quirks.contains(.sloppyQueries) {
            return .error(400, "Simulator: unknown query parameter '\(unknown.name)'", detail: nil)
        }
        guard let type = request.header("Content-Type") else {
            return .error(400, "Content-Type is required", detail: "Simulator: a file needs its media type")
        }
        guard let table = request.parameter("table_name"), let id = request.parameter("table_sys_id"),
            let name = request.parameter("file_name"), !name.isEmpty
        else { return .error(400, "Missing query parameter", detail: "table_name, table_sys_id and file_name are required") }
        guard let task = world.tasks[id], task.table == table, !user.hiddenTasks.contains(id) else { return .noRecord }
        guard user.attachments != .forbidden else { return .insertRefused }
        let hash = Hexadecimal.text(SHA256.hash(data: request.body))
        let file = SimulatedAttachment(
            id: world.makeID(), task: id, table: table, name: name, type: type, bytes: request.body, author: user.userName,
            time: call.now, hash: settings.hashesAttachments ? hash : "")
        if !call.quirks.contains(.nothingWritten) { world.attach(file) }
        return .json(
            201,
            [
                "result": [
                    "sys_id": .string(file.id), "file_name": .string(file.name), "table_name": .string(file.table),
                    "table_sys_id": .string(file.task), "content_type": .string(file.type),
                    "size_bytes": .string(String(file.bytes.count)),
                ]
            ]
        ).with("Location", "/api/now/attachment/\(file.id)")
    }
}
