import ArgumentParser
import BellhopAgent
import BellhopCore

struct Deliveries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "What was done, what waits, and what was given up.",
        discussion: """
            Dead deliveries were given up; held ones may have been done, and nothing can prove it. Look at the task, then retry or \
            drop them.

            Waiting ones come after a step with `on_error: stop`. They go when it is done, and are dropped when it is given up; \
            when it is retried, they wait again.
            """,
        subcommands: [List.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List deliveries, oldest first.")

        @OptionGroup var config: ConfigOptions
        @OptionGroup var output: OutputOptions

        @Option(
            help:
                "Only those in this state: available, waiting, running, done, dead, held, shadow or dropped. May be given several times."
        )
        var state: [String] = []

        @Option(help: "Only those of this rule.")
        var rule: String?

        @Option(name: [.long, .customShort("n")], help: "How many at most, the newest.")
        var limit = 50

        @Argument(help: "A delivery's id, or the start of one: shows it whole.")
        var id: String?

        func validate() throws {
            if limit < 1 { throw ValidationError("--limit is at least 1.") }
            let names = DeliveryState.allCases.map(\.rawValue)
            for name in state where !names.contains(name) {
                let help = Suggestion.didYouMean(name, among: names) ?? "there is \(names.joined(separator: ", "))"
                throw ValidationError("There is no state `\(name)`: \(help)")
            }
        }

        func run() async throws {
            let query = DeliveryQuery(
                states: state.compactMap(DeliveryState.init(rawValue:)), rule: rule, id: id, limit: limit)
            let link = try config.storeLink()
            if output.json {
                _ = try await link.answer(.deliveries(query)) { Console.json($0) }
                return
            }
            if let id {
                var count = 0
                _ = try await link.answer(.deliveries(query)) { delivery in
                    count += 1
                    Console.data(delivery.text(.pretty).visibleLines)
                }
                if count == 0 { throw Trouble(.problem, "There is no delivery \(id.visible).") }
                return
            }
            var table = Table("ID", "STATE", "RULE", "ACTION", "RECEIVER", "TASK", "TRIES", "SINCE", "NEXT TRY", "WHAT")
            let zone = link.zone
            _ = try await link.answer(.deliveries(query)) { delivery in
                table.add(
                    String((delivery["id"]?.asString ?? "").prefix(12)), Self.state(delivery), delivery["rule"].words(in: zone),
                    (delivery["name"] ?? delivery["action"]).words(in: zone), delivery["receiver"].words(in: zone),
                    delivery["task"]?["number"].words(in: zone) ?? "-", delivery["attempts"].words(in: zone),
                    delivery["created"].words(in: zone),
                    delivery["state"]?.asString == DeliveryState.available.rawValue ? delivery["next"].words(in: zone) : "-",
                    delivery["receipt"]?.asString ?? delivery["error"]?["message"]?.asString ?? "")
            }
            table.print()
        }

        /// The state in words for people.
        private static func state(_ delivery: JSON) -> String {
            guard let state = DeliveryState(rawValue: delivery["state"]?.asString ?? "") else { return "-" }
            guard state == .available else { return state.words }
            return (delivery["attempts"]?.asInt ?? 0) > 0 ? "waiting to retry" : "ready"
        }
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Try dead or held deliveries again.")
        @OptionGroup var decision: DecisionOptions
        func run() async throws { try await decision.decide(.retry, done: "will be tried again") }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give deliveries up for good.")
        @OptionGroup var decision: DecisionOptions
        func run() async throws { try await decision.decide(.drop, done: "dropped") }
    }
}

struct DecisionOptions: ParsableArguments {
    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "All that are dead or held.")
    var all = false

    @Argument(help: "Ids of deliveries, or the starts of ids.")
    var ids: [String] = []

    func validate() throws {
        if all != ids.isEmpty { throw ValidationError("Name deliveries, or say --all.") }
    }

    func decide(_ decision: Decision, done: String) async throws {
        let answer = try await config.answer(.decide(decision, deliveries: ids))
        if output.json { return Console.json(answer) }
        let changed = answer["changed"]?.asInt ?? 0
        Console.data("\(changed) deliver\(changed == 1 ? "y" : "ies") \(done).")
        if changed == 0, !all {
            throw Trouble(
                .problem,
                decision == .retry
                    ? "None of these is available, dead or held." : "None of these is available, waiting, dead or held.")
        }
    }
}

extension String {
    /// Control characters made visible, line by line.
    var visibleLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }.joined(separator: "\n")
    }
}
