import BellhopCore
import Logging

/// Log lines for people (or, on request, for programs) on standard error.
struct TerminalLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    let format: LogOptions.Format
    let clock: any AgentClock
    /// The time zone of text lines; nil for UTC.
    let zone: TimeZoneTable?
    /// Whether each line begins with its level for systemd's journal (sd-daemon(3)).
    let isForJournal: Bool

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Console.note(line(event.level, event.message, metadata.merging(event.metadata ?? [:]) { _, new in new }))
    }

    func line(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) -> String {
        let line =
            switch format {
            case .text: text(level, message, facts)
            case .json: json(level, message, facts)
            }
        return isForJournal ? "<\(level.priority)>\(line)" : line
    }

    private func text(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) -> String {
        let colour = Console.noteHasColour
        let paint: Paint = level >= .error ? .red : level == .warning ? .yellow : .green
        let moment = zone.map { $0.dateAndClock(clock.now) } ?? clock.now.rfc3339InSeconds
        var line = "\(Paint.dim(moment, if: colour)) \(paint(level.rawValue.padded(to: 7), if: colour)) \(message)"
        for key in facts.keys.sorted(by: Self.order) where key != "signal" && key != "shown" {
            let value = "\(facts[key]!)"
            line += " " + Paint.dim("\(key)=", if: colour) + value.quotedIfNeeded
        }
        if let zone { return line.withLocalTimes(in: zone).wrapped(to: Screen.noteWidth, indent: 4) }
        return line
    }

    private func json(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) -> String {
        var object: JSON.Object = [
            "time": .string(clock.now.rfc3339), "level": .string(level.rawValue), "message": .string("\(message)"),
        ]
        for key in facts.keys.sorted(by: Self.order) { object[key] = .string("\(facts[key]!)") }
        return JSON.object(object).printable
    }

    /// Puts the subject first.
    private static let first = [
        "signal", "source", "connection", "type", "task", "title", "author", "text", "changes", "rule", "step", "action",
        "receiver", "place", "code", "problem", "error",
    ]

    private static func order(_ a: String, _ b: String) -> Bool {
        let ranks = (first.firstIndex(of: a) ?? first.count, first.firstIndex(of: b) ?? first.count)
        return ranks.0 == ranks.1 ? a < b : ranks.0 < ranks.1
    }
}

extension String {
    /// The value of a fact on one line; in quotes if it is empty or has blanks. Looks at scalars: a blank before an accent is one
    /// character with it.
    var quotedIfNeeded: String {
        let line = singleLine.unicodeScalars
        guard line.isEmpty || line.contains(" ") else { return String(line) }
        return "\"" + String(String.UnicodeScalarView(line.map { $0 == "\"" ? "'" : $0 })) + "\""
    }
}

extension Logger.Level {
    /// The number of this level in syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
