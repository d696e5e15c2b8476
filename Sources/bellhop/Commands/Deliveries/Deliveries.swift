import ArgumentParser
import BellhopAgent
import BellhopCore

struct Deliveries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "List what was done, what is still to be done, and what needs a decision.",
        discussion: """
            A delivery is in one of these states:
              available  to be done now, or at its next try
              waiting    it waits for an earlier step with `on_error: stop`
              running    being done
              done       done
              joined     a line of another delivery's message: retry or drop that one
              dead       it failed permanently: fix the cause, then retry or drop it
              held       perhaps done, not confirmed: check the task, then retry or drop it
              shadow     its rule is in shadow mode: recorded, not done
              silenced   a silence kept it back: recorded, never sent
              quiet      a quiet time keeps it back until it ends: a retry sends it now
              dropped    dropped by a person, a quiet time, a later message or a dead step

            `bellhop deliveries` lists the newest 50. --limit N changes the number; --state, --rule, --receiver, --since, \
            --reason and --where list only some.
            `bellhop deliveries show ID` shows one delivery with everything that it sends; ID is an id in the list, or its start.
            `bellhop deliveries edit ID` opens the arguments of a dead or held delivery in an editor.
            `bellhop deliveries retry ID` retries a dead or held delivery, and sends a quiet one now; `bellhop deliveries drop ID` gives it up. Both \
            take the options of the list instead of ids, and then ask first: `bellhop deliveries retry --receiver ops --since 1h`.
            """,
        subcommands: [DeliveryList.self, DeliveryShow.self, DeliveryEditor.self, DeliveryRetry.self, DeliveryDrop.self],
        defaultSubcommand: DeliveryList.self)
}

struct DeliveryShow: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one delivery: what happened to it, and what is sent.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "A delivery's id, or the start of one: shows all that it fits.")
    var id: String

    func validate() throws {
        if id.isEmpty { throw ValidationError("The id is empty.") }
    }

    func run() async throws { try await Self.show(id, config.storeLink(), output) }

    static func show(_ id: String, _ link: StoreLink, _ output: OutputOptions) async throws(CommandError) {
        var count = 0
        // Limited, because a short start of an id may match many deliveries.
        _ = try await link.answer(.deliveries(DeliveryQuery(id: id, limit: 20))) { delivery in
            count += 1
            if output.json { return Console.json(delivery) }
            if count > 1 { Console.data("") }
            for line in DeliveryPage(delivery: delivery, zone: link.zone).lines { Console.data(line) }
        }
        if count == 0 { throw CommandError(.problem, "There is no delivery \(id.visible).") }
    }
}
