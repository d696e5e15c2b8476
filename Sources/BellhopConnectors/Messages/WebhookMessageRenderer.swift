public import BellhopCore

/// Renders a message as the JSON document sent to connections of kind `webhook`. Stable: members are added, never changed.
///
/// ```json
/// {"type": "message", "id": "…", "timestamp": "2026-01-05T09:00:00.000000Z", "rule": "…", "severity": "info",
///  "title": "…", "text": "…", "plain": "…", "fields": [{"name": "…", "value": "…"}],
///  "list": {"items": ["…"], "more": 0, "empty": ""}, "link": {"label": "…", "address": "…"}, "thread": "…",
///  "task": {"id": "…", "number": "…", "title": "…", "class": "…", "url": "…", "source": "…", "subject": "…"}, "fallback": false}
/// ```
/// All members are always present; `list`, `link`, `thread` and `task` may be null. `id` is the delivery's, the same for every
/// attempt. Texts contain no markup, and values are unchanged: the receiver must escape them. `text` is the message's own text,
/// `plain` the whole message for receivers that show one text.
public struct WebhookMessageRenderer: Sendable {
    public init() {}

    public func render(_ message: Message, from origin: MessageOrigin) -> JSON {
        .object([
            "type": "message", "id": .string(origin.delivery), "timestamp": .string(origin.time.rfc3339),
            "rule": .string(origin.rule), "severity": .string(message.severity.rawValue),
            "title": .string(message.title.plainText), "text": .string(message.text.map(text).joined(separator: "\n\n")),
            "plain": .string(PlainRenderer().text(message)),
            "fields": .array(
                message.fields.map { field in
                    .object(["name": .string(field.name.plainText), "value": .string(field.value.plainText)])
                }),
            "list": message.list.map(list) ?? .null,
            "link": message.link.map { .object(["label": .string($0.label), "address": .string($0.address)]) } ?? .null,
            "thread": message.thread.map(JSON.string) ?? .null, "task": origin.task.map(task) ?? .null,
            "fallback": .bool(message.isFallback),
        ])
    }

    private func text(_ block: Message.Block) -> String {
        switch block {
        case .paragraph(let inlines): inlines.plainText
        case .list(let isOrdered, let items):
            items.enumerated().map { place, item in (isOrdered ? "\(place + 1). " : "- ") + item.plainText }
                .joined(separator: "\n")
        }
    }

    private func list(_ list: Message.List) -> JSON {
        .object([
            "items": .array(list.items.map { .string($0.plainText) }), "more": .int(Int64(list.more)),
            "empty": .string(list.empty.plainText),
        ])
    }

    private func task(_ task: TaskReference) -> JSON {
        .object([
            "id": .string(task.key.text), "number": .string(task.number), "title": .string(task.title),
            "class": .string(task.className), "url": .string(task.url), "source": .string(task.source),
            "subject": .string(task.subject),
        ])
    }
}
