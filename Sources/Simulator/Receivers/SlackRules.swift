import BellhopCore

/// The rules of Slack's incoming webhooks for messages.
///
/// Source of the limits: Slack's Block Kit reference.
struct SlackRules {
    struct Refusal: Error, Sendable, Hashable {
        /// The answer's text.
        var code: String
        /// More precise than the code. Slack's webhooks do not send it; here it is the field `X-Simulator-Reason`.
        var reason: String
    }

    private static let known: Set<String> = [
        "actions", "context", "divider", "header", "image", "rich_text", "section", "markdown",
    ]

    static func check(_ body: [UInt8]) throws(Refusal) {
        let message: JSON
        do { message = try JSON.parse(body) } catch {
            throw Refusal(code: "invalid_payload", reason: "\(error)")
        }
        guard message.asObject != nil else { throw Refusal(code: "invalid_payload", reason: "the body is not a JSON object") }
        let text = message["text"]?.asString ?? ""
        guard let blocks = message["blocks"] else {
            guard !text.isEmpty || message["attachments"] != nil else {
                throw Refusal(code: "no_text", reason: "neither text nor blocks")
            }
            guard text.unicodeScalars.count <= 40_000 else {
                throw Refusal(code: "msg_too_long", reason: "text over 40,000 characters")
            }
            return
        }
        guard let blocks = blocks.asArray else { throw invalid("blocks is not a list") }
        guard blocks.count <= 50 else { throw invalid("more than 50 blocks") }
        for block in blocks { try check(block) }
    }

    private static func invalid(_ reason: String) -> Refusal { Refusal(code: "invalid_blocks", reason: reason) }

    private static func check(_ block: JSON) throws(Refusal) {
        guard let type = block["type"]?.asString, known.contains(type) else {
            throw invalid("unknown type of block: \(block["type"]?.text ?? "none")")
        }
        switch type {
        case "header":
            guard block["text"]?["type"]?.asString == "plain_text" else { throw invalid("a header's text is not plain_text") }
            try text(block["text"], in: "header", upTo: 150)
        case "section":
            guard block["text"] != nil || block["fields"] != nil else { throw invalid("a section without text and fields") }
            if block["text"] != nil { try text(block["text"], in: "section", upTo: 3000) }
            if let fields = block["fields"] {
                let fields = try list(fields, "fields", upTo: 10)
                for field in fields { try text(field, in: "field", upTo: 2000) }
            }
        case "context":
            for element in try list(block["elements"], "elements of a context", upTo: 10)
            where element["type"]?.asString != "image" {
                try text(element, in: "context", upTo: 3000)
            }
        case "actions":
            for element in try list(block["elements"], "elements of actions", upTo: 25)
            where element["type"]?.asString == "button" {
                try text(element["text"], in: "button", upTo: 75)
                if let url = element["url"]?.asString, url.count > 3000 { throw invalid("a button's url over 3000 characters") }
            }
        default: break
        }
    }

    private static func list(_ value: JSON?, _ name: String, upTo limit: Int) throws(Refusal) -> [JSON] {
        guard let elements = value?.asArray, !elements.isEmpty else { throw invalid("\(name): not a list, or an empty one") }
        guard elements.count <= limit else { throw invalid("\(name): more than \(limit)") }
        return elements
    }

    private static func text(_ value: JSON?, in place: String, upTo limit: Int) throws(Refusal) {
        guard let type = value?["type"]?.asString, type == "plain_text" || type == "mrkdwn", let text = value?["text"]?.asString
        else { throw invalid("\(place): no text object") }
        guard !text.isEmpty else { throw invalid("\(place): empty text") }
        guard text.unicodeScalars.count <= limit else { throw invalid("\(place): text over \(limit) characters") }
    }
}
