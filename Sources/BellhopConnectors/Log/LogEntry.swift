import BellhopCore

/// The content of one step of kind `log`, and its formats.
struct LogEntry: Sendable, Hashable {
    enum Level: String, Sendable, Hashable, CaseIterable { case debug, info, warning, error }
    enum Format: String, Sendable, Hashable, CaseIterable { case text, json }

    var time: Timestamp
    var level: Level
    var rule: String
    /// The task's number, if there is a task.
    var task: String?
    /// The event's id, or the full name of another occasion.
    var event: String
    var delivery: String
    var text: String
    var fields: JSON.Object

    init(_ arguments: JSON.Object, delivery: Delivery, at now: Timestamp) {
        let settings = Settings(arguments)
        time = now
        level = settings.text("level").flatMap(Level.init(rawValue:)) ?? .info
        rule = delivery.id.rule
        task = delivery.task.map { $0.number.isEmpty ? $0.key.text : $0.number }
        let occasion = delivery.id.occasion.text
        event = occasion.hasPrefix("event/") ? String(occasion.dropFirst(6)) : occasion
        self.delivery = delivery.id.text
        text = RequestArguments.words(arguments["text"] ?? .null)
        fields = arguments["fields"]?.asObject ?? [:]
    }

    /// The entry on one line without its newline.
    func line(_ format: Format) -> String {
        switch format {
        case .text: textLine
        case .json: jsonLine
        }
    }

    /// `2026-01-05T09:00:00Z warning [page-for-p1] INC0010021: the text key=value`
    private var textLine: String {
        var line = "\(time.rfc3339InSeconds) \(level.rawValue) [\(rule)] "
        if let task { line += task + ": " }
        line += text
        for (name, value) in fields { line += " \(name)=" + Self.quoted(RequestArguments.words(value)) }
        return Self.visible(line)
    }

    /// One JSON object; escapes terminal control sequences, so that the line is safe to display.
    private var jsonLine: String {
        var entry: JSON.Object = ["time": .string(time.rfc3339), "level": .string(level.rawValue), "rule": .string(rule)]
        if let task { entry["task"] = .string(task) }
        entry["event"] = .string(event)
        entry["delivery"] = .string(delivery)
        entry["text"] = .string(text)
        if !fields.isEmpty { entry["fields"] = .object(fields) }
        return JSON.object(entry).printable
    }

    private static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && !"\"=".utf8.contains($0) }
        return isPlain ? text : "\"" + text.replacingScalars(of: "\"", with: "\\\"") + "\""
    }

    /// The text on one line, with control characters escaped: `\n`, `\u{1b}`.
    static func visible(_ text: String) -> String {
        TerminalText.escaping(text) { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
    }
}
