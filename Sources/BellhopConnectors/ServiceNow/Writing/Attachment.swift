import BellhopCore
import Crypto

/// A file that a delivery attaches to a task.
struct Attachment: WriteOrder {
    var task: TaskReference
    var name: String
    var type: String
    var bytes: [UInt8]

    /// The maximal size in bytes: a file is stored with its delivery until the delivery is done.
    static let most = 5 << 20

    init(_ delivery: Delivery) throws(Failure) {
        guard let task = delivery.task else { throw .badArguments("A file needs a task, and this event has none.") }
        guard case .values(let arguments) = delivery.arguments, let written = arguments["name"]?.asString else {
            throw .badArguments("This delivery holds no file; it was made by another version of Bellhop.")
        }
        let name = Self.name(of: written)
        if name.isEmpty { throw .badArguments("The file's name is empty.") }
        let contents = ["text", "json", "base64"].filter { arguments[$0] != nil }
        guard contents.count == 1 else {
            throw .badArguments(
                contents.isEmpty
                    ? "A file needs `text`, `json` or `base64`."
                    : "A file has one content: give `\(contents[0])` or `\(contents[1])`, not both.")
        }
        let standard: String
        switch contents[0] {
        case "json":
            bytes = (arguments["json"] ?? .null).encoded()
            standard = "application/json"
        case "base64":
            let text = arguments["base64"].textOrEmpty.filter { !$0.isWhitespace }
            guard let decoded = Base64.decode(text[...]) else {
                throw .badArguments("The `base64` of '\(name)' is not valid Base64.")
            }
            bytes = decoded
            standard = "application/octet-stream"
        default:
            bytes = Array(arguments["text"].textOrEmpty.utf8)
            standard = "text/plain; charset=utf-8"
        }
        type = arguments["type"]?.asString ?? standard
        guard HeaderFields.isValue(type), type.contains("/"), !type.contains(",") else {
            throw .badArguments("'\(Redaction.excerpt(type, length: 40))' is not a media type.")
        }
        guard !bytes.isEmpty else { throw .badArguments("The file '\(name)' is empty; the server accepts no empty files.") }
        guard bytes.count <= Self.most else {
            throw Failure(.tooLarge, .giveUp, "The file '\(name)' has \(bytes.count) bytes; at most \(Self.most) are sent.")
        }
        self.task = task
        self.name = name
    }

    /// The maximal length of a name, in code points.
    private static let longestName = 100

    /// Makes a file name of a text: characters that some systems do not allow become `-`, and a long name is cut before its extension.
    static func name(of text: String) -> String {
        var trimmed = text[...]
        while let last = trimmed.last, last.isWhitespace { trimmed.removeLast() }
        while let first = trimmed.first, first.isWhitespace { trimmed.removeFirst() }
        let name = String(
            String.UnicodeScalarView(
                trimmed.unicodeScalars.map { scalar in
                    let isControl = [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
                    return isControl || "/\\:*?\"<>|".unicodeScalars.contains(scalar) ? "-" : scalar
                }))
        if !name.isEmpty, name.allSatisfy({ $0 == "." }) { return String(repeating: "-", count: min(name.count, longestName)) }
        guard name.unicodeScalars.count > longestName else { return name }
        var ending = name.lastIndex(of: ".").map { String(name[$0...]) } ?? ""
        // The rest of a sentence after a full stop is not an extension.
        if ending.unicodeScalars.count > 20 || ending.contains(where: \.isWhitespace) { ending = "" }
        var kept = ""
        var room = longestName - ending.unicodeScalars.count
        for character in name {
            room -= character.unicodeScalars.count
            if room < 0 { break }
            kept.append(character)
        }
        return kept + ending
    }

    private var hash: String { Hexadecimal.text(SHA256.hash(data: bytes)) }

    /// Requests the task's files with that name.
    func lookup(table: String) -> ServiceNowCall {
        let parameters = [
            (
                "sysparm_query",
                "table_sys_id=\(task.key.text)^file_name=\(EncodedQuery.escaped(name))^ORDERBYDESCsys_created_on"
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

    /// The sys_id of the row with the same name and hash. Without an equal hash, a row counts that has the same name and size and
    /// was created by this account since a time; without that time, none.
    func match(_ rows: [JSON], by username: String?, since: Timestamp?) -> String? {
        let hash = hash
        return rows.first { row in
            guard row["table_sys_id"]?.asString == task.key.text, row["file_name"]?.asString == name,
                row["size_bytes"]?.asString == String(bytes.count)
            else { return false }
            if row["hash"]?.asString.map({ ASCII.lowercased($0) }) == hash { return true }
            guard let since, let time = row["sys_created_on"]?.asString.flatMap({ Timestamp(sql: $0) }) else { return false }
            let author = row["sys_created_by"].textOrEmpty
            return time >= since && username.map { ASCII.equalIgnoringCase(author, $0) } ?? true
        }?["sys_id"]?.asString
    }
}

extension Attachment {
    func work(in context: WriteContext, _ note: WriteNote) async throws(Failure) -> AttachmentWrite {
        let record = try await context.read(task)
        let now = context.connection.clock.now
        return AttachmentWrite(
            file: self, table: record.table, context: context, since: note.since, now: now,
            ahead: (record.serverTime(at: now) ?? now) - now)
    }

    static let manifest = ActionManifest(
        kind: "attach", summary: "Attaches a file of at most 5 MiB to the task; the same file under the same name only once.",
        receiver: .taskConnection,
        arguments: [
            Setting("name", .text, required: true, "The file's name."),
            Setting("text", .text, "Its content, as text."),
            Setting("json", .json, "Its content, as JSON; templates keep their types."),
            Setting("base64", .text, "Its content, in Base64."),
            Setting("type", .text, "Its media type; by default the one for text, JSON or bytes."),
        ], effect: .writes)
}

/// Attaches a file: the task's files show whether it is there.
struct AttachmentWrite: Write {
    static let noun = "file"
    let file: Attachment
    let table: String
    let context: WriteContext
    /// The server's time before the first request, if one was sent.
    let since: Timestamp?
    let now: Timestamp
    /// How far the server's clock is ahead of ours.
    let ahead: Duration
    var time: Timestamp? { serverTime(now) }
    var request = WriteRequest()

    func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup {
        let since: Timestamp? =
            switch occasion {
            case .first, .earlier: since
            case .gap(let span): serverTime(span.lowerBound)
            case .unanswered, .answered: since ?? time
            }
        do throws(Failure) {
            let reply = try await context.session.send(file.lookup(table: table))
            if let id = file.match(reply.rows, by: await context.session.username, since: since) {
                return .written(Proof(id, reference: id))
            }
            if reply.total ?? 0 <= reply.rows.count || reply.rows.count >= 100 { return .absent }
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {}
        return .unprovable("this account may not read the files of \(file.task.name)")
    }

    /// The server's time at this local time, minus the possible difference between its machines.
    private func serverTime(_ local: Timestamp) -> Timestamp { local + ahead - context.times.skew }

    mutating func send(notAfter: Timestamp) async throws(Failure) -> Sent {
        let (file, place) = (file, context.place)
        return try await request.send(file.call(table: table, notAfter: notAfter), context.session) { reply throws(Failure) in
            guard let id = reply.record.raw("sys_id"), !id.isEmpty else {
                throw Failure(.badAnswer, .unknownOutcome, "\(place) answered \(reply.status) without a file.")
            }
            let size = reply.record.raw("size_bytes") ?? ""
            guard size.isEmpty || size == String(file.bytes.count) else {
                throw Failure(
                    .notWritten, .giveUp,
                    "\(place) answered \(reply.status), but '\(file.name)' at \(file.task.name) has \(size) bytes there, not \(file.bytes.count)."
                )
            }
            return .proved(Receipt("\(reply.status), '\(file.name)' \(id)", reference: id))
        }
    }
}
