/// A model of a rule with quiet times, beside `WaitingModel`. The histories start at nine.
struct QuietModel {
    static let rule = """
        rule: z
        on: [task_created, task_changed]
        when: task.priority == 2
        quiet: {hours: "09:15-09:25,09:33-09:50,09:52-09:55"}
        do: [{notify: {to: chat, title: "z ${{ task.id }}"}}]
        """

    /// The quiet times, in minutes after nine.
    private static let quiet = [15..<25, 33..<50, 52..<55]

    /// The tasks of the held messages.
    private var held: [String] = []
    private(set) var log: [String] = []

    mutating func apply(_ kind: WaitingModel.Kind, _ id: String, _ priority: Int, at now: Int) {
        guard kind == .created || kind == .changed, priority == 2 else { return }
        if Self.isQuiet(now) { held.append(id) } else { log.append("chat: z \(id)") }
    }

    mutating func afterChanges(at now: Int) {
        if held.isEmpty || Self.isQuiet(now) { return }
        log.append(held.count == 1 ? "chat: z \(held[0])" : "chat: \(held.count) messages were kept back")
        held = []
    }

    private static func isQuiet(_ minute: Int) -> Bool { quiet.contains { $0.contains(minute) } }
}
