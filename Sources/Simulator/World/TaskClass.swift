/// A table that extends `task`: its name, number prefix and labels.
struct TaskClass: Sendable, Hashable {
    var table: String
    var prefix: String
    var label: String
    var germanLabel: String
    /// Labels of `state` by raw value. Other states have the labels of `task`.
    var states: [String: String]
    /// States that close a task: setting one makes it inactive.
    var closingStates: Set<String>
    /// The initial state unless another is given.
    var openState = "1"

    func label(in language: Language) -> String { language == .german ? germanLabel : label }

    static let task = TaskClass(
        table: "task", prefix: "TASK", label: "Task", germanLabel: "Aufgabe",
        states: [
            "-5": "Pending", "1": "Open", "2": "Work in Progress", "3": "Closed Complete", "4": "Closed Incomplete",
            "7": "Closed Skipped",
        ], closingStates: ["3", "4", "7"])

    static let incident = TaskClass(
        table: "incident", prefix: "INC", label: "Incident", germanLabel: "Störung",
        states: ["1": "New", "2": "In Progress", "3": "On Hold", "6": "Resolved", "7": "Closed", "8": "Canceled"],
        closingStates: ["7", "8"])

    static let change = TaskClass(
        table: "change_request", prefix: "CHG", label: "Change Request", germanLabel: "Change-Anforderung",
        states: [
            "-5": "New", "-4": "Assess", "-3": "Authorize", "-2": "Scheduled", "-1": "Implement", "0": "Review", "3": "Closed",
            "4": "Canceled",
        ], closingStates: ["3", "4"], openState: "-5")

    static let catalogTask = TaskClass(
        table: "sc_task", prefix: "SCTASK", label: "Catalog Task", germanLabel: "Katalogaufgabe", states: task.states,
        closingStates: task.closingStates)

    static let problem = TaskClass(
        table: "problem", prefix: "PRB", label: "Problem", germanLabel: "Problem",
        states: [
            "101": "New", "102": "Assess", "103": "Root Cause Analysis", "104": "Fix in Progress", "106": "Resolved",
            "107": "Closed",
        ],
        closingStates: ["107"], openState: "101")

    static let all = [task, incident, change, catalogTask, problem]

    static func named(_ table: String) -> TaskClass? { all.first { $0.table == table } }
}
