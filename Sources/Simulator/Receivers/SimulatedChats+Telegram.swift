import BellhopCore

// Telegram's Bot API: `/telegram/bot{token}/{method}`. The chat -100404 does not exist. Source: the Bot API and its answers.
extension SimulatedChats.State {
    mutating func telegram(_ call: ChatCall) throws(Refusal) -> Reply {
        guard call.path.count == 2, call.path[0].hasPrefix("bot"), call.path[0].contains(":") else {
            throw Self.refusal(404, "Not Found")
        }
        switch call.fault {
        case .tooManyRequests(let seconds)?:
            throw Refusal(
                429,
                [
                    "ok": false, "error_code": 429, "description": .string("Too Many Requests: retry after \(Int(seconds))"),
                    "parameters": ["retry_after": .int(Int64(seconds))],
                ])
        case .revoked?: throw Self.refusal(401, "Unauthorized")
        case .noChat?: throw Self.refusal(403, "Forbidden: bot was kicked from the supergroup chat")
        case .hiddenError?: return .json(200, ["ok": false, "error_code": 500, "description": "Internal Server Error"])
        case nil: break
        }
        if call.path[1] == "getMe" {
            return .json(200, ["ok": true, "result": ["id": 7, "is_bot": true, "username": "bellhop_bot"]])
        }
        if call.path[1] == "getChat" {
            let chat = call.request.parameter("chat_id") ?? ""
            guard chat != "-100404" else { throw Self.refusal(400, "Bad Request: chat not found") }
            return .json(200, ["ok": true, "result": ["id": .string(chat), "title": "On call"]])
        }
        let body = try call.body(or: Self.refusal(400, "Bad Request: can't parse JSON object"))
        let chat = body["chat_id"]?.asInt.map(String.init) ?? body["chat_id"]?.asString ?? ""
        guard !chat.isEmpty else { throw Self.refusal(400, "Bad Request: chat_id is empty") }
        guard chat != "-100404" else { throw Self.refusal(400, "Bad Request: chat not found") }
        try Self.check(body["text"]?.asString ?? "", isHTML: body["parse_mode"] == "HTML")
        switch call.path[1] {
        case "sendMessage":
            let parent = body["reply_parameters"]?["message_id"]?.asInt.map(String.init)
            if let parent, find("telegram", chat, parent) == nil {
                throw Self.refusal(400, "Bad Request: message to be replied not found")
            }
            let id = next()
            add(call, place: chat, thread: parent, id: String(id), body)
            return .json(200, ["ok": true, "result": ["message_id": .int(Int64(id)), "chat": ["id": body["chat_id"] ?? .null]]])
        case "editMessageText":
            let id = body["message_id"]?.asInt.map(String.init) ?? ""
            guard let at = find("telegram", chat, id) else { throw Self.refusal(400, "Bad Request: message to edit not found") }
            guard messages[at].body["text"] != body["text"] else {
                throw Self.refusal(
                    400,
                    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
                )
            }
            _ = edit(call, place: chat, id: id, body)
            return .json(200, ["ok": true, "result": ["message_id": .int(Int64(id) ?? 0)]])
        default: throw Self.refusal(404, "Not Found: method not found")
        }
    }

    private static func refusal(_ status: Int, _ description: String) -> Refusal {
        Refusal(status, ["ok": false, "error_code": .int(Int64(status)), "description": .string(description)])
    }

    /// Refuses HTML that Telegram cannot parse, a text of more than 4,096 UTF-16 units after parsing, and links of more than about
    /// 9,500 bytes.
    private static func check(_ text: String, isHTML: Bool) throws(Refusal) {
        var rest = text[...]
        var open: [Substring] = []
        var units = 0
        var addresses = 0
        func wrong(_ what: String) -> Refusal { refusal(400, "Bad Request: can't parse entities: \(what)") }
        while isHTML, let place = rest.firstIndex(where: { $0 == "<" || $0 == "&" }) {
            units += rest[..<place].utf16.count
            rest = rest[place...]
            if rest.first == "<" {
                guard let end = rest.firstIndex(of: ">") else { throw wrong("Unclosed start tag") }
                let tag = rest[rest.index(after: rest.startIndex)..<end]
                if tag.first == "/" {
                    guard open.popLast() == tag.dropFirst() else { throw wrong("Unexpected end tag") }
                } else {
                    let name = tag.prefix { $0 != " " }
                    guard ["b", "strong", "i", "em", "u", "s", "code", "pre", "a", "blockquote"].contains(name) else {
                        throw wrong("Unsupported start tag \"\(name)\"")
                    }
                    open.append(name)
                    addresses += tag.utf8.count - name.utf8.count
                }
                rest = rest[rest.index(after: end)...]
            } else {
                let name = rest.dropFirst().prefix(12).prefix { $0 != ";" && $0 != " " }
                let isKnown = ["amp", "lt", "gt", "quot"].contains(name) || name.first == "#"
                units += 1
                rest = isKnown ? rest[name.endIndex...].dropFirst() : rest.dropFirst()
            }
        }
        units += rest.utf16.count
        guard open.isEmpty else { throw wrong("Can't find end tag corresponding to start tag \"\(open.last ?? "")\"") }
        guard units > 0 else { throw refusal(400, "Bad Request: message text is empty") }
        guard units <= 4096 else { throw refusal(400, "Bad Request: message is too long") }
        guard addresses <= 9500 else { throw refusal(400, "Bad Request: ENTITIES_TOO_LONG") }
    }
}
