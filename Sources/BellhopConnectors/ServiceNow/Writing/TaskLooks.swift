import BellhopCore
import Synchronization

/// Looks at tasks before something is written to them: one request for the task of an attempt and for those that come next.
///
/// A class over a lock, because what one attempt has read serves the next ones.
final class TaskLooks: Sendable {
    /// What a look showed of a task.
    struct Look: Sendable, Hashable {
        /// The table of its class.
        var table: String
        /// What the server's clock and ours said then.
        var serverTime: Timestamp?
        var at: Timestamp

        /// The server's time when our clock says this.
        func serverTime(at now: Timestamp) -> Timestamp? { serverTime.map { $0 + (now - at) } }
    }

    private let looks = Mutex<[TaskKey: Look]>([:])
    /// A look is good for so long.
    private static let life = Duration.seconds(30)

    /// What is known of a task, which serves one attempt; or else a look at it and at those that come next. Nil where the account may not
    /// ask for them so, or the task is not among those it may see: then it has to be asked for itself.
    func look(
        at task: TaskKey, next upcoming: [String], _ session: ServiceNowSession
    ) async throws(Failure) -> Look? {
        if let look = take(task, at: session.clock.now) { return look }
        let next = upcoming.compactMap { $0.split(separator: "/").last.map { TaskKey(String($0)) } }
        let keys = Set(next.filter { ServiceNowConnection.isSysID($0.text) && $0 != task })
        guard !keys.isEmpty else { return nil }
        let asked = [task] + keys.sorted { $0.text < $1.text }
        let call = ServiceNowCall.table(
            "task",
            [
                ("sysparm_query", "sys_idIN" + asked.map(\.text).joined(separator: ",")),
                ("sysparm_fields", "sys_id,sys_class_name"), ("sysparm_display_value", "false"),
                ("sysparm_exclude_reference_link", "true"), ("sysparm_limit", String(asked.count)),
                ("sysparm_no_count", "true"), ("sysparm_suppress_pagination_header", "true"),
            ], expecting: .rows)
        let reply: ServiceNowReply
        do throws(Failure) {
            reply = try await session.send(call)
        } catch  where [.forbidden, .goneOrHidden, .refused, .badAnswer, .tooLarge, .quota].contains(error.reason) {
            return nil
        }
        let now = session.clock.now
        for row in reply.rows {
            guard let id = row["sys_id"]?.asString, let table = row["sys_class_name"]?.asString, FieldWrite.isName(table) else {
                continue
            }
            // A server that does not understand a query answers with other rows.
            let key = TaskKey(id)
            guard key == task || keys.contains(key) else { return nil }
            looks.withLock { $0[key] = Look(table: table, serverTime: reply.serverTime, at: now) }
        }
        return take(task, at: now)
    }

    private func take(_ task: TaskKey, at now: Timestamp) -> Look? {
        looks.withLock { looks in
            looks = looks.filter { $0.value.at <= now && now - $0.value.at < Self.life }
            return looks.removeValue(forKey: task)
        }
    }
}
