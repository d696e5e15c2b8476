struct ScheduleRules {
    /// A change of the text of a rule.
    enum Change {
        /// Its `do` changes: its state stays.
        case action(String)
        /// The text of its condition changes, with the same meaning: its state is dropped.
        case condition(String)
        case absence(String)
        case presence(String)
    }

    private struct Writing {
        var (condition, action) = (0, 0)
        var isThere = true
    }

    static let letters = ["v", "u", "y", "l", "i", "o", "w", "k"]
    /// Rules that may be removed and added again.
    private static let removable = ["v", "i"]

    private var writings: [String: Writing] = [:]

    /// Changes the text of a rule.
    mutating func change(_ letter: String, _ choice: Int) -> Change {
        var writing = writings[letter] ?? Writing()
        defer { writings[letter] = writing }
        switch choice {
        // A digest keeps its place only if its condition stays.
        case 0 where letter != "l" && writing.isThere:
            writing.condition += 1
            return .condition(letter)
        case 1 where Self.removable.contains(letter):
            writing.isThere.toggle()
            return writing.isThere ? .presence(letter) : .absence(letter)
        default:
            writing.action += 1
            return .action(letter)
        }
    }

    var yaml: String {
        Self.letters.compactMap { letter in
            let writing = writings[letter] ?? Writing()
            guard writing.isThere else { return nil }
            return Self.rule(letter).replacing("WHEN", with: "0 <= \(writing.condition)")
                .replacing("ACTION", with: "\(writing.action)")
        }.joined(separator: "\n---\n")
    }

    private static func rule(_ letter: String) -> String {
        let list = "each: tasks.filter(t, t.priority == 1)"
        let log = "do: [{log: \"\(letter) ${{ task.id }}\", if: \"ACTION >= 0\"}]"
        let body =
            switch letter {
            case "v": "on: {every: 5m}\n\(list)\nwhen: WHEN\nfor: 7m\n\(log)"
            case "u": "on: {every: 3m}\n\(list)\nwhen: WHEN\nonce: task.id\n\(log)"
            case "y": "on: {every: 4m}\n\(list)\nwhen: WHEN\nthrottle: {every: 9m, by: task.id}\n\(log)"
            case "l":
                """
                on: {every: 7m}
                let: {own: "events.filter(e, e.type.startsWith('task_'))"}
                when: size(own) > 0
                do: [{log: "l ${{ own.map(e, e.type + ' ' + e.task.id).join(' ') }}", if: "ACTION >= 0"}]
                """
            case "i":
                """
                on: task_changed
                when: task.priority == 1 && WHEN
                for: {time: 4m, existing: true}
                do: [{log: "i ${{ task.id }} ${{ event == null ? 'known' : event.type }}", if: "ACTION >= 0"}]
                """
            case "o": "on: [task_created, task_returned]\nwhen: WHEN\nonce: task.id\n\(log)"
            case "w": "on: task_changed\nwhen: WHEN\nthrottle: {every: 5m, by: task.priority}\n\(log)"
            default: "on: task_changed\nwhen: WHEN\nmode: {canary: 50%}\n\(log)"
            }
        return "rule: \(letter)\n" + body
    }
}
