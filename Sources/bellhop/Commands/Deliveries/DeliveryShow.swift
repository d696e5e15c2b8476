import ArgumentParser
import BellhopAgent
import BellhopCore

struct DeliveryShow: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show one delivery: what happened to it, and what is sent.")

    @OptionGroup var config: AgentOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "A delivery's id, or the start of one.")
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
            for line in DeliveryPage(delivery, zone: link.zone).lines { Console.data(line) }
        }
        if count == 0 { throw CommandError(.problem, "There is no delivery \(id.visible).") }
    }
}
