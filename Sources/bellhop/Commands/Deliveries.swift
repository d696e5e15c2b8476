import ArgumentParser
import BellhopAgent
import BellhopCore

struct Deliveries: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "What was done, what is still to be done, and what needs a decision.",
        discussion: """
            A delivery is in one of these states:
              available  to be done now, or at its next try
              waiting    it comes after a step with `on_error: stop` that is not done yet
              running    being done
              done       done
              dead       it failed for good: fix the cause, then retry or drop it
              held       perhaps done, not proved: check the task, then retry or drop it
              shadow     its rule is in shadow mode: recorded, not done
              dropped    a person dropped it, or the step that it waited for is dead

            `bellhop deliveries` lists the newest 50. --limit N changes the number; --state STATE and --rule RULE list only some.
            `bellhop deliveries ID` shows one delivery with everything that it sends; ID is an id in the list, or its start.
            `bellhop deliveries retry ID` retries a dead or held delivery, and `bellhop deliveries drop ID` gives it up.
            """,
        subcommands: [List.self, Retry.self, Drop.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List deliveries, oldest first; with an id, show one whole.")

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
                let zone = link.zone
                _ = try await link.answer(.deliveries(query)) { delivery in
                    count += 1
                    Console.data(delivery.withLocalTimes(in: zone).text(.pretty).visibleLines)
                }
                if count == 0 { throw CommandError(.problem, "There is no delivery \(id.visible).") }
                return
            }
            var table = PagedTable(Self.columns, width: Screen.dataWidth) { Console.data($0) }
            var undecided = 0
            let zone = link.zone
            _ = try await link.answer(.deliveries(query)) { delivery in
                let row = Self.row(delivery, in: zone)
                table.add(row.cells, paints: row.paints)
                if row.needsPerson { undecided += 1 }
            }
            table.end()
            if undecided > 0 {
                Console.sentence(
                    "\(undecided == 1 ? "One needs" : "\(undecided) need") a decision: `bellhop deliveries ID` says why; `retry` or `drop` decides."
                )
            }
        }

        /// On a narrow screen, the last column (what was done or will be done) is left out last.
        static let columns: [Table.Column] = [
            .init("ID"), .init("STATE"), .init("RULE"), .init("ACTION", rank: 5), .init("RECEIVER", rank: 3),
            .init("TASK", rank: 2), .init("TRIES", rank: 7), .init("CREATED", rank: 8), .init("NEXT TRY", rank: 6),
            .init("WHAT", rank: 1, isText: true),
        ]

        /// One delivery as a row of ``columns``.
        static func row(
            _ delivery: JSON, in zone: TimeZoneTable
        ) -> (cells: [String], paints: [Int: Paint], needsPerson: Bool) {
            let state = DeliveryState(rawValue: delivery["state"]?.asString ?? "")
            let attempts = delivery["attempts"]?.asInt ?? 0
            let cells = [
                String((delivery["id"]?.asString ?? "").prefix(12)), state?.rawValue ?? "-",
                delivery["rule"].words(in: zone),
                (delivery["name"] ?? delivery["action"]).words(in: zone), delivery["receiver"].words(in: zone),
                delivery["task"]?["number"].words(in: zone) ?? "-", "\(attempts)", delivery["created"].minute(in: zone),
                state == .available ? nextTry(delivery, attempts: attempts, in: zone) : "-",
                what(delivery).withLocalTimes(in: zone),
            ]
            return (cells, state?.paint(attempts: attempts).map { [1: $0] } ?? [:], state?.needsPerson ?? false)
        }

        /// `paused` while its receiver is.
        private static func nextTry(_ delivery: JSON, attempts: Int64, in zone: TimeZoneTable) -> String {
            if let stop = delivery["stopped"] { return stop["until"]?.isNull ?? true ? "paused" : stop["until"].minute(in: zone) }
            return attempts > 0 ? delivery["next"].minute(in: zone) : "-"
        }

        /// The result; without an attempt, what would be sent or done.
        private static func what(_ delivery: JSON) -> String {
            if let done = delivery["receipt"]?.asString ?? delivery["error"]?["message"]?.asString { return done }
            let arguments = delivery["arguments"]
            let text = delivery["message"]?["text"] ?? arguments?["text"] ?? arguments ?? .null
            let words = text.asString ?? (text.asObject?.isEmpty ?? true ? "-" : text.text)
            return String(words.prefix(longestIntention)).singleLine
        }

        /// In characters; the whole is shown with the delivery's id.
        private static let longestIntention = 200
    }

    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "retry", abstract: "Try dead or held deliveries again.")
        @OptionGroup var command: DeliveryCommandOptions
        func run() async throws { try await command.run(.retry, done: "will be tried again") }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Drop deliveries for good: they are not done any more.")
        @OptionGroup var command: DeliveryCommandOptions
        func run() async throws { try await command.run(.drop, done: "dropped") }
    }
}

struct DeliveryCommandOptions: ParsableArguments {
    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "All that are dead or held.")
    var all = false

    @Argument(help: "Ids of deliveries, or the starts of ids.")
    var ids: [String] = []

    func validate() throws {
        if all != ids.isEmpty { throw ValidationError("Name deliveries, or say --all.") }
    }

    func run(_ command: DeliveryCommand, done: String) async throws {
        let answer = try await config.answer(.apply(command, deliveries: ids))
        if output.json { return Console.json(answer) }
        let changed = answer["changed"]?.asInt ?? 0
        Console.data("\(changed) deliver\(changed == 1 ? "y" : "ies") \(done).")
        if changed == 0, !all {
            throw CommandError(
                .problem,
                command == .retry
                    ? "None of these deliveries is available, dead or held."
                    : "None of these deliveries is available, waiting, dead or held.")
        }
    }
}

extension DeliveryState {
    /// Whether a person must decide what happens with the delivery.
    var needsPerson: Bool {
        switch self {
        case .dead, .held: true
        case .available, .waiting, .running, .done, .shadow, .dropped: false
        }
    }

    fileprivate func paint(attempts: Int64) -> Paint? {
        switch self {
        case .dead, .held: .red
        case .available: attempts > 0 ? .yellow : nil
        case .waiting, .running, .done, .shadow, .dropped: nil
        }
    }
}

extension String {
    /// Control characters made visible, line by line.
    var visibleLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }.joined(separator: "\n")
    }
}
