import BellhopCore
import Crypto

/// A file that a delivery attaches to a task.
struct Attachment: WriteOrder {
    var task: TaskReference
    var name: String
    var type: String
    var bytes: [UInt8]

    /// The size limit: a file is stored with its delivery until that is done.
    static let most = 5 << 20

    init(_ delivery: Delivery) throws(Failure) {
        func bad(_ message: String) -> Failure { Failure(.badArguments, .giveUp, message) }
        guard let task = delivery.task else { throw bad("A file needs a task, and this event has none.") }
        guard case .values(let arguments) = delivery.arguments, let name = arguments["name"]?.asString else {
            throw bad("This delivery holds no file; it was made by another version of Bellhop.")
        }
        guard !name.isEmpty, name.unicodeScalars.count <= 100, name != ".", name != "..", !name.hasPrefix("javascript:"),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control || $0 == "/" || $0 == "\\" })
        else {
            throw bad(
                "A file's name has at most 100 characters, and no / or \\; this is '\(Redaction.excerpt(name, length: 40))'.")
        }
        let contents = ["text", "json", "base64"].filter { arguments[$0] != nil }
        guard contents.count == 1 else {
            throw bad(
                contents.isEmpty
                    ? "A file needs `text`, `json` or `base64`."
                    : "`\(contents[0])` and `\(contents[1])` are two contents of one file.")
        }
        let standard: String
        switch contents[0] {
        case "json":
            bytes = (arguments["json"] ?? .null).encoded()
            standard = "application/json"
        case "base64":
            let text = (arguments["base64"]?.asString ?? "").filter { !$0.isWhitespace }
            guard let decoded = Base64.decode(text[...]) else { throw bad("`base64` of '\(name)' is not Base64.") }
            bytes = decoded
            standard = "application/octet-stream"
        default:
            bytes = Array((arguments["text"]?.asString ?? "").utf8)
            standard = "text/plain; charset=utf-8"
        }
        type = arguments["type"]?.asString ?? standard
        guard HeaderFields.isValue(type), type.contains("/"), !type.contains(",") else {
            throw bad("'\(Redaction.excerpt(type, length: 40))' is not a media type.")
        }
        guard !bytes.isEmpty else { throw bad("The file '\(name)' is empty; the server accepts no empty files.") }
        guard bytes.count <= Self.most else {
            throw Failure(.tooLarge, .giveUp, "The file '\(name)' has \(bytes.count) bytes; at most \(Self.most) are sent.")
        }
        self.task = task
        self.name = name
    }

    private var hash: String {
        SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Requests the task's files with that name.
    func lookup(table: String) -> ServiceNowCall {
        let parameters = [
            (
                "sysparm_query",
                "table_sys_id=\(task.key.text)^file_name=\(name.replacing("^", with: "^^"))^ORDERBYDESCsys_created_on"
            ),
            ("sysparm_fields", "sys_id,table_sys_id,file_name,size_bytes,hash,sys_created_by,sys_created_on"),
            ("sysparm_limit", "100"), ("sysparm_suppress_pagination_header", "true"),
        ]
        return ServiceNowCall(target: ServiceNowCall.target("/api/now/attachment", parameters), expecting: .rows)
    }

    func call(table: String, notAfter: Timestamp) -> ServiceNowCall {
        let parameters = [("table_name", table), ("table_sys_id", task.key.text), ("file_name", name)]
        return ServiceNowCall(
            method: "POST", target: ServiceNowCall.target("/api/now/attachment/file", parameters), file: (bytes, type),
            expecting: .record, notAfter: notAfter)
    }

    /// The sys_id of the row that is this file: same name and bytes, or, if the instance has no matching hash, same name and
    /// size, created by this account and not before the delivery's first attempt.
    func match(_ rows: [JSON], by username: String?, since: Timestamp?) -> String? {
        let hash = hash
        return rows.first { row in
            guard row["table_sys_id"]?.asString == task.key.text, row["file_name"]?.asString == name,
                row["size_bytes"]?.asString == String(bytes.count)
            else { return false }
            if row["hash"]?.asString.map({ ASCII.lowercased($0) }) == hash { return true }
            guard let since, let time = row["sys_created_on"]?.asString.flatMap({ Timestamp(serviceNow: $0) }) else {
                return false
            }
            let author = row["sys_created_by"]?.asString ?? ""
            return time >= since && username.map { ASCII.equalIgnoringCase(author, $0) } ?? true
        }?["sys_id"]?.asString
    }
}

extension AttachAction {
    /// The settings of an `attach` in a rule.
    static let manifest = ActionManifest(
        kind: "attach", summary: "Puts a file of at most 5 MiB at the task; the same file of the same name once.",
        receiver: .taskConnection,
        arguments: [
            Setting("name", .text, required: true, "The file's name."),
            Setting("text", .text, "Its content, as text."),
            Setting("json", .json, "Its content, as JSON; templates keep their types."),
            Setting("base64", .text, "Its content, in Base64."),
            Setting("type", .text, "Its media type; by default the one for text, JSON or bytes."),
        ], effect: .writes)
}
