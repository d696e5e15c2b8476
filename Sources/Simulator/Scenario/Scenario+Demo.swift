import BellhopCore

extension Scenario {
    /// A title that programs must treat as plain text.
    public static let hostileTitle = #"<!channel> ${{ secret.x }} "; DROP TABLE"#

    /// Half an hour of work for one user: two old tasks at the start, then new ones, a change, a P1, a closing.
    ///
    /// - Parameters:
    ///   - user: the user name of the assignee; colleagues and callers are those of ``SimulatedInstance/addPeople()``.
    ///   - start: microseconds since 1970 UTC; apply `tick(to: start)` before the first poll, and the old tasks are there.
    ///   - minute: how long a minute of the script takes, in microseconds of the simulation's clock.
    public static func demo(for user: String, from start: Int64, minute: Int64 = 60_000_000) -> Scenario {
        var random = SeededRandom(seed: 42)
        let ids = (0..<6).map { _ in random.hex() }
        func at(_ minutes: Int64, _ event: ScenarioEvent) -> Due { Due(at: start + minutes * minute, event) }
        let old = oldTasks(of: user, openedBy: ("beth.anglin", "carla.humble"), ids: ids, at: start)
        let vpn = NewTask(
            "incident", title: "VPN drops every few minutes since this morning", priority: 2, assignedTo: user,
            openedBy: "abel.tuter", sysID: ids[2])
        let hostile = NewTask(
            "incident", title: hostileTitle, priority: 4, assignedTo: user, openedBy: "david.loo", sysID: ids[3])
        let mail = NewTask(
            "incident", title: "Mail is down for the whole company", priority: 1, openedBy: "eva.seahorn", sysID: ids[4])
        let certificate = NewTask(
            "change_request", title: "Renew the certificate of the mail gateway", priority: 3, assignedTo: user,
            openedBy: "fred.luddy", sysID: ids[5])
        return Scenario([
            at(0, .opened(old[0])),
            at(0, .opened(old[1])),
            at(3, .opened(vpn)),
            at(5, .opened(hostile)),
            at(8, .changed(task: ids[0], set: ["priority": "2"], by: "beth.anglin")),
            at(9, .noted(task: ids[2], text: "It works from my phone, if that helps.", kind: .comments, by: "abel.tuter")),
            at(11, .opened(mail)),
            at(13, .assigned(task: ids[4], to: user, by: "fred.luddy")),
            at(16, .closed(task: ids[0], by: user)),
            at(20, .opened(certificate)),
            at(24, .changed(task: ids[4], set: ["state": "2"], by: user)),
            at(28, .closed(task: ids[4], by: user)),
        ])
    }
}
