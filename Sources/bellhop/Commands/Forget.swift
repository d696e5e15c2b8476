import ArgumentParser
import BellhopAgent
import BellhopCore

struct Forget: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Make rules forget a task: end its waits, and remove it from counts and groups.",
        discussion: """
            Ends the task's waits of `for`, takes it out of counts and groups, and forgets that `once` and `throttle` have seen it, where \
            the task's id is their key; ends its escalations, and drops its messages that quiet times hold. The next event of the task \
            begins all of these again. Deliveries that were made stay, and others still wait: `bellhop deliveries drop` drops them.

            Works beside a running agent, and without one.
            """)

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The task: its number, sys_id or address, or the subject of its events.")
    var task: String

    func run() async throws {
        let answer = try await config.storeLink().answer(.forget(task: task))
        if output.json { return Console.json(answer) }
        let found = answer["task"]
        let number = found?["number"]?.asString ?? ""
        let name = number.isEmpty ? found?["id"]?.asString ?? task : number
        let ended = answer["ended"].elements
        if ended.isEmpty { return Console.data("No rule waited for \(name.visible) or remembered it.") }
        Console.data("Forgot \(name.visible):")
        for one in ended { Console.data("  rule \(one["rule"].textOrEmpty.visible): \(Self.words(one))") }
    }

    private static func words(_ one: JSON) -> String {
        let count = one["count"]?.asInt ?? 0
        switch one["part"]?.asString {
        case "for": return counted(count, "wait of `for` ended", "waits of `for` ended")
        case "count": return counted(count, "run is no longer counted", "runs are no longer counted")
        case "group": return counted(count, "run left its group", "runs left their groups")
        case "quiet": return counted(count, "held message dropped", "held messages dropped")
        case "escalate": return counted(count, "escalation ended", "escalations ended")
        case "once": return "`once` lets it run again"
        case "throttle": return "`throttle` lets it run at once"
        case let part: return "\(counted(count, "wait")) of `\(part ?? "")` ended"
        }
    }
}
