import Simulator

/// Describes the changes on a practice instance, and the next change.
struct SimulateStory: Sendable {
    let instance: SimulatedInstance
    /// The speed of the instance's clock, relative to real time.
    let speed: Double

    /// Says how to use the simulated instance and its receivers.
    static func connecting(to address: String) -> String {
        """
        To use it, in another terminal:
          bellhop init practice --instance \(address) && cd practice
          bellhop login snow
          bellhop secret set ops_url    (answer with \(address)/hooks/ops, which takes what Slack takes)
          bellhop run
        \(address)/simulator/chats shows the messages, and \(address)/webhook/NAME takes anything.
        """
    }

    func line(_ report: Simulation.PlayReport) -> String {
        switch report {
        case .watched: "A client has listed the tasks for the first time since its login."
        case .happened(let event): "now: " + text(event)
        case .comes(let event, let wait): "next, \(time(wait)): " + text(event)
        }
    }

    private func time(_ micros: Int64) -> String {
        let seconds = Int((Double(micros) / 1e6 / speed).rounded())
        return seconds < 100 ? "in \(seconds) s" : "in \(seconds / 60) min"
    }

    private func text(_ event: ScenarioEvent) -> String {
        switch event {
        case .opened(let task): "a new \(task.table) for \(task.assignedTo ?? "nobody yet"): \(task.title)"
        case .changed(let task, let values, let author):
            "\(author) sets \(values.sorted { $0.key < $1.key }.map { "\($0.key) to \($0.value)" }.joined(separator: ", ")) on \(name(task))"
        case .assigned(let task, let user, let author): "\(author) gives \(name(task)) to \(user ?? "nobody")"
        case .noted(let task, let text, let kind, let author):
            "\(author) writes \(kind == .comments ? "a comment" : "a work note") on \(name(task)): \(text)"
        case .closed(let task, let author): "\(author) closes \(name(task))"
        case .deleted(let task): "\(name(task)) is deleted"
        }
    }

    private func name(_ task: String) -> String {
        instance.task(task).map { "\($0.number) (\($0.title))" } ?? "a deleted task"
    }
}
