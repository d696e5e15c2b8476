import BellhopAgent
import BellhopCore
import BellhopRules

/// The waits, counts and groups of rules.
extension StatusPage {
    /// A sentence for each rule and part, truncated to one line in the short form.
    func waits(limit: Int) -> [String] {
        let (shown, more) = cut(status["waits"].elements, limit: limit)
        let lines = shown.map { wait in
            let (rule, count) = (wait["rule"].textOrEmpty, wait["count"]?.asInt ?? 0)
            // With too many waits, the status has no first time.
            let time = wait["next"]?.asString == nil ? nil : wait["next"].words(in: zone)
            let isOverdue = wait["overdue"] == true
            let isPaused = status["paused"].elements.contains { $0["rule"]?.asString == rule }
            let next = isOverdue ? nil : time
            // A group flushes without a poll.
            let moment = RuleTimer.coming(isPaused: isPaused, isAfterPoll: wait["part"] != "group")
            let overdue = time.map { " was due at \($0), and comes \(moment)." }
            func end(_ what: String, _ coming: String?) -> String {
                isOverdue ? overdue.map { what + $0 } ?? "." : coming ?? "."
            }
            switch wait["part"]?.asString {
            case "for":
                return "Rule \(rule) waits for \(Self.words(count)) key\(count == 1 ? "" : "s")"
                    + end("; the first", next.map { ", the first until \($0)." })
            case "on":
                return "Rule \(rule) has \(Self.words(count)) event\(count == 1 ? " that waits" : "s that wait") for others."
            case "none":
                return "Rule \(rule) runs for \(Self.words(count)) key\(count == 1 ? "" : "s") if no event comes"
                    + end("; the first", next.map { ", for the first at \($0)." })
            case "escalate":
                return "Rule \(rule) escalates \(Self.words(count)) task\(count == 1 ? "" : "s")"
                    + end("; the next step", next.map { "; the next step comes at \($0)." })
            case "count": return "Rule \(rule) has counted \(Self.words(count)) so far\(keys(of: rule))."
            default:
                let gathered = wait["gathered"]?.asInt ?? 0
                return "Rule \(rule) has gathered \(Self.words(gathered)) in \(Self.words(count)) group\(count == 1 ? "" : "s")"
                    + end("; the first", next.map { "; the first flushes at \($0)." })
            }
        }
        let lost = allRules.compactMap { rule -> String? in
            guard let dropped = rule["dropped_keys"]?.asInt, dropped > 0 else { return nil }
            return "Rule \(rule["rule"].textOrEmpty) has dropped \(counted(dropped, "key")), because it had "
                + "more than it may remember (`retention: {keys: …}` in bellhop.yaml)."
        }
        if limit == .max { return wrapped(lines + lost) }
        return (lines + lost.prefix(limit)).map { $0.cutBetweenWords(to: width ?? .max) } + rest(more)
    }

    /// The next timers, and the number of the others.
    var upcoming: [String] {
        let next = status["upcoming"].elements
        if next.isEmpty { return [] }
        var table = Table([.init("DUE"), .init("RULE"), .init("PART", rank: 2), .init("ABOUT", rank: 1)])
        for timer in next {
            table.add([
                timer["due"].words(in: zone), timer["rule"].words(in: zone), timer["kind"].textOrEmpty,
                Self.subject(ofTimer: timer).singleLine,
            ])
        }
        let later = status["later_waits"]?.asInt ?? 0
        let isMany = later + Int64(next.count) > Int64(StoreStatus.WaitStatus.most)
        return table.lines(width: width)
            + (later > 0 ? ["and \(isMany ? "more than " : "")\(later - (isMany ? 1 : 0)) more"] : [])
    }

    /// What a timer is about: a task's number, a key, or how many events a group has gathered.
    static func subject(ofTimer timer: JSON) -> String {
        let (key, number) = (timer["key"].textOrEmpty, timer["number"].textOrEmpty)
        if let gathered = timer["gathered"]?.asInt { return (key.isEmpty ? "" : "\(key), ") + "\(gathered) gathered" }
        return number.isEmpty ? timer["subject"]?.asString ?? key : number
    }

    /// `: 3 for Network, 2 for Desk`, the first keys of a rule's counts.
    private func keys(of rule: String) -> String {
        let keyed = status["counts"].elements.filter {
            $0["rule"]?.asString == rule && $0["key"]?.asString?.isEmpty == false
        }
        if keyed.isEmpty { return "" }
        return ": "
            + keyed.map { "\($0["count"]?.asInt ?? 0) for \($0["key"].textOrEmpty.singleLine)" }.joined(separator: ", ")
    }

    /// A number in words. Counting stops at a limit, so a number above it means "more than the limit".
    private static func words(_ count: Int64) -> String {
        count > Int64(StoreStatus.WaitStatus.most) ? "more than \(StoreStatus.WaitStatus.most)" : "\(count)"
    }
}
