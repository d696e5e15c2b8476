import ArgumentParser
import BellhopAgent
import BellhopCore
import Glibc

struct DeliveryEditor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Change the arguments of a dead or held delivery in an editor.",
        discussion: """
            Opens the arguments as YAML in $VISUAL, $EDITOR or vi. When you save and leave, they are checked, the difference is \
            shown and stored, and the delivery says who changed it and when. `bellhop deliveries retry ID` then sends it.

            The receiver and a message's `thread` are not in the form: they decide after which other deliveries this one comes.
            """)

    @OptionGroup var config: AgentOptions

    @Argument(help: "The delivery's id, or a start that fits only this one.")
    var id: String

    func run() async throws {
        let link = try config.storeLink()
        let form = try await link.answer(.form(id))
        let (delivery, before) = (form["delivery"] ?? .null, form["text"].textOrEmpty)
        let short = String(delivery["id"].textOrEmpty.prefix(12))
        let editor = try TextEditor(environment: config.environment)
        var text = Self.heading(of: delivery, short, in: link.zone) + before
        let first = text
        while true {
            text = try editor.edit(text, name: "delivery-\(short).yaml")
            if text == first { return Console.sentence("Nothing was changed.") }
            let change = FormEdit(delivery: delivery["id"].textOrEmpty, before: before, after: text)
            let answer = try await link.answer(.edit(change))
            guard let problems = answer["problems"]?.asArray else {
                let difference = answer["difference"].textOrEmpty
                if difference.isEmpty { return Console.sentence("Nothing was changed.") }
                Console.data(difference.visibleLines)
                return Console.sentence("Stored. `bellhop deliveries retry \(short)` sends it.")
            }
            for problem in problems { Console.note(problem.asString ?? "") }
            // The end of the input counts as no.
            guard Console.isInteractive, let reply = try Console.ask("Edit again? [Y/n] "),
                !["n", "no"].contains(reply.lowercased())
            else { throw CommandError(.badConfiguration, "Nothing was changed.") }
        }
    }

    /// Comments about the delivery and its error.
    private static func heading(of delivery: JSON, _ short: String, in zone: TimeZoneTable) -> String {
        func text(_ name: String) -> String { delivery[name]?.asString?.singleLine.visible ?? "" }
        let task = delivery["task"]?["number"]?.asString.map { " on \($0.singleLine.visible)" } ?? ""
        var lines = [
            "Delivery \(short), \(text("state")): \(text("action"))\(task) to \(text("receiver")), by rule \(text("rule"))."
        ]
        if let error = delivery["error"]?["message"]?.asString {
            lines.append(error.singleLine.withLocalTimes(in: zone).visible)
        }
        lines.append("Save the file to store your changes; close it without a change to keep the delivery.")
        return lines.map { "# \($0)\n" }.joined()
    }
}
