import BellhopCore

/// How large a message to Google Chat may be.
enum GoogleChatLimits {
    /// In code points: what a message shows. The whole message may have 32,000 bytes.
    static let text = 4096
    /// In bytes, of the whole message's 32,000.
    static let bytes = 28_000
    /// The characters of a thread's key.
    static let threadKey = 4000
}

/// Google Chat's Markdown (`MARKUP_SYNTAX_MARKDOWN`): CommonMark with backslashes, unlike Chat's older markup, which has no escapes.
/// Mentions are `<users/ID>` in both.
struct GoogleChatRenderer: Sendable {
    func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        let mentions = message.mentions.compactMap(Self.mention)
        var limit = GoogleChatLimits.text
        var text: String
        repeat {
            text = MessageText(flavour: CommonMark(), limit: limit).render(message, from: origin, mentions: mentions)
            limit /= 2
        } while text.utf8.count > GoogleChatLimits.bytes
        var body: JSON.Object = ["text": .string(text), "markupSyntax": "MARKUP_SYNTAX_MARKDOWN"]
        if let thread = message.thread {
            body["thread"] = ["threadKey": .string(String(thread.prefix(GoogleChatLimits.threadKey / 4)))]
        }
        return .object(body)
    }

    /// A user's number, or the group `all`.
    static func mention(_ mention: Message.Mention) -> String? {
        switch mention {
        case .user(let id):
            let isID = 1...64 ~= id.utf8.count && id.utf8.allSatisfy { ASCII.isAlphanumeric($0) || ".-_@".utf8.contains($0) }
            return isID && id != "all" ? "<users/\(id)>" : nil
        case .group(let name): return name == "all" ? "<users/all>" : nil
        }
    }
}
