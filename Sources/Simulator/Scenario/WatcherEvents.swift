import BellhopCore

/// Events for new watchers of a simulated instance.
struct WatcherEvents: Sendable {
    private static let titles = [
        "VPN drops every few minutes since this morning", "Outlook asks for the password again and again",
        "No sound in video calls in room 2.14", "Wi-Fi is slow in the canteen",
    ]

    let user: String
    let caller: String
    /// The sys_id of the task that changes.
    let task: String
    private(set) var random: SeededRandom
    private(set) var count = 0

    mutating func next(at time: Int64) -> [Scenario.Due] {
        defer { count += 1 }
        let new = NewTask(
            "incident", title: Self.titles[count % Self.titles.count], priority: 2, assignedTo: user, openedBy: caller,
            sysID: random.hex())
        let priority = count.isMultiple(of: 2) ? "2" : "3"
        return [
            .init(at: time + 5 * CivilTime.second, .changed(task: task, set: ["priority": priority], by: caller)),
            .init(at: time + 12 * CivilTime.second, .opened(new)),
        ]
    }
}
