import ArgumentParser
import BellhopAgent
import BellhopCore

struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Give a connection no deliveries until `bellhop resume`.",
        discussion: """
            The deliveries of the connection wait: none is attempted, and none is lost, but one that `expires` meanwhile is not sent \
            any more. Sources go on reading from the connection. A pause survives a restart, and `bellhop status` shows it.

            Bellhop itself pauses a connection whose address is gone or whose token is not accepted any more (401, 404, 410). \
            Repair it in bellhop.yaml, then resume it.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The reason that `bellhop status` shows.")
    var why = "paused by hand"

    @Argument(help: "The connection's name.")
    var name: String

    func run() async throws {
        let link = try config.storeLink()
        guard link.connections[name] != nil else {
            let names = link.connections.keys.sorted()
            let help = Suggestion.didYouMean(name, among: names) ?? "there is \(names.joined(separator: ", "))."
            throw CommandError(.problem, "There is no connection `\(name.visible)`" + (names.isEmpty ? "." : ": \(help)"))
        }
        let answer = try await link.answer(.pause(receiver: name, why: why))
        if output.json { return Console.json(answer) }
        Console.data(
            answer["changed"] == true
                ? "\(name) is paused: its deliveries wait until `bellhop resume \(name)`." : "\(name) was paused before.")
    }
}

struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Give a paused connection its deliveries again.",
        discussion: "Its waiting deliveries are sent in their order. `bellhop status` lists what is paused, and why.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The connection's name, as `bellhop status` shows it.")
    var name: String

    func run() async throws {
        let answer = try await config.answer(.resume(receiver: name))
        if output.json { return Console.json(answer) }
        guard answer["changed"] == true else {
            throw CommandError(.problem, "\(name.visible) is not paused: `bellhop status` lists what is.")
        }
        Console.data("\(name.visible) is resumed.")
    }
}
