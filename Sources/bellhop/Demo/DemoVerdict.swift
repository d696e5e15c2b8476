import BellhopCore
import Simulator

/// The result of the demonstration: for each thing that should arrive, whether the simulated systems received it.
struct DemoVerdict {
    struct Item {
        var what: String
        var hasArrived: Bool
        var proof: String
    }

    var items: [Item]

    var isGood: Bool { items.allSatisfy(\.hasArrived) }

    init(_ simulation: Simulation) {
        let incidents = simulation.instance.tasks.filter { $0.table == "incident" }
        let notes = incidents.flatMap { task in
            simulation.instance.journal(of: task.id, .workNotes).filter { $0.author == "john.doe" }.map { (task, $0) }
        }
        let newIncidents = incidents.filter { $0.created > Demo.start.microseconds }
        let newTasks = simulation.instance.tasks.filter { $0.created > Demo.start.microseconds }
        let isAcknowledgedOnce = newIncidents.allSatisfy { task in notes.count { $0.0.id == task.id } == 1 }
        let chat = simulation.receivers.received(by: "ops").filter(\.isAccepted).map(\.text)
        let digests = chat.filter { $0.contains("open tasks") }
        let calls = chat.filter { $0.contains("without an owner") }
        let alerts = chat.filter { !$0.contains("open tasks") && !$0.contains("without an owner") }
        let urgent = newIncidents.filter { $0["priority"] == "1" }
        let isCalledOnce = urgent.allSatisfy { task in calls.count { $0.contains(task.number) } == 1 }
        let isAlertedOnce = newTasks.allSatisfy { task in alerts.count { $0.contains(task.number) } == 1 }
        let showsMentionText = alerts.contains { $0.contains("&lt;!channel&gt;") || $0.contains("<!channel>") }
        items = [
            Item(
                what: "acknowledgements of the new incidents",
                hasArrived: !newIncidents.isEmpty && isAcknowledgedOnce && notes.count == newIncidents.count,
                proof: notes.map { "\($0.0.number)" }.joined(separator: ", ")),
            Item(what: "the digest of 08:30", hasArrived: digests.count == 1, proof: digests.isEmpty ? "" : "one message"),
            Item(
                what: "alerts in the chat", hasArrived: isAlertedOnce && alerts.count == newTasks.count && showsMentionText,
                proof: "\(alerts.count) messages"),
            Item(
                what: "calls for help with an unowned P1",
                hasArrived: !urgent.isEmpty && isCalledOnce && calls.count == urgent.count,
                proof: urgent.map(\.number).joined(separator: ", ")),
        ]
    }
}

extension SimulatedTask {
    /// When the record was made, in microseconds since 1970 UTC.
    fileprivate var created: Int64 { Timestamp(sql: self["sys_created_on"])?.microseconds ?? 0 }
}
