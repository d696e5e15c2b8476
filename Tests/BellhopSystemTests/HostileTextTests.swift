import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Text from people stays text, wherever it is shown or sent.
@Suite(.timeLimit(.minutes(5))) struct HostileTextTests {
    private static let rules = """
        rules:
          - rule: everything
            on: [task_created, task_changed]
            do:
              - comment: "About: ${{ task.title }}"
              - log: "stdout ${{ task.title }}"
              - log: {text: "file ${{ task.title }}", file: logs/text.log}
              - log: {text: "${{ task.title }}", file: logs/json.log, format: json, fields: {title: "${{ task.title }}"}}
              - webhook:
                  to: hook
                  headers: {X-Title: "${{ task.title }}"}
                  query: {title: "${{ task.title }}"}
                  json: {title: "${{ task.title }}", words: "About ${{ task.title }}"}
              - notify: {to: ops, title: "${{ task.title }}", text: "**New** ${{ task.title }}", fields: {Title: "${{ task.title }}"}}

        """

    @Test(arguments: HostileTexts.titles)
    func `a hostile title arrives as text everywhere`(_ title: String) async throws {
        func configuration(_ address: String) -> String {
            Stage.configuration(address, extra: "secrets: [{folder: secrets}]")
        }
        try await Stage.set(rules: Self.rules, configuration: configuration) { stage in
            try stage.folder.write("secrets/x", Secrets.signing)
            let task = stage.instance.addTask(title: title, assignedTo: Stage.user)
            let run = try await stage.bellhop("run", "--once")
            #expect(run.code == 0, "\(run.errors)")
            #expect(try await stage.deliveries().allSatisfy { $0["state"] == "done" })

            checkJournal(of: task, stage)
            try checkWebhook(title, stage)
            try checkChat(title, stage)
            try checkLogs(title, stage)
            try await checkCommands(title, run, stage)
        }
    }

    @Test func `every hostile text of the table arrives unchanged, or as harmless text, in one run`() async throws {
        func configuration(_ address: String) -> String {
            Stage.configuration(address, extra: "secrets: [{folder: secrets}]")
        }
        let titles = HostileTexts.all.filter { !$0.isEmpty }
        try await Stage.set(rules: Self.rules, configuration: configuration) { stage in
            try stage.folder.write("secrets/x", Secrets.signing)
            let tasks = titles.map { stage.instance.addTask(title: $0, assignedTo: Stage.user) }
            let run = try await stage.bellhop("run", "--once")
            #expect(run.code == 0, "\(run.errors)")
            #expect(Self.isHarmless(run.errors) && Self.isHarmless(run.output))
            for task in tasks { checkJournal(of: task, stage) }
            let calls = stage.simulation.receivers.received(by: "hook")
            #expect(calls.count == titles.count)
            for call in calls {
                let title = try #require(try JSON.parse(call.text)["title"]?.asString)
                #expect(call.request.parameter("title") == title)
                #expect(call.request.header("X-Injected") == nil)
            }
            let arrived = try calls.map { Array((try JSON.parse($0.text)["title"]?.asString ?? "").utf8) }
            #expect(Set(arrived) == Set(titles.map { Array($0.utf8) }))
            let messages = stage.simulation.receivers.received(by: "ops")
            #expect(messages.count == titles.count)
            for message in messages { try checkMarkup(of: message) }
            for (file, count) in [("text", titles.count), ("json", titles.count)] {
                let lines = try String(contentsOfFile: stage.folder.path + "/logs/\(file).log", encoding: .utf8)
                #expect(lines.split(separator: "\n").count == count, "\(file)")
                #expect(Self.isHarmless(lines), "\(file)")
            }
        }
    }

    @Test(arguments: [
        ["events", "--x\u{1B}[31m\u{9B}2J\u{202E}\u{200B}"], ["status", "x\u{1B}]0;owned\u{7}"],
        ["deliveries", "--state", "de\u{200B}ad\u{1B}[2J"],
        ["events", "--limit", "\u{1B}[31m"], ["wat\u{1B}[31m"], ["run", "--log-level", "\u{202E}gubed"],
    ])
    func `wrong input is quoted as harmless text`(_ arguments: [String]) async throws {
        try await Stage.set(rules: "") { stage in
            let ended = await (try stage.start(arguments)).end()
            #expect(ended.code == 64)
            #expect(ended.output.isEmpty && !ended.errors.isEmpty)
            let controls = ended.errors.unicodeScalars.filter { $0.isControl && $0 != "\n" }
            #expect(controls.isEmpty, "\(ended.errors.debugDescription)")
        }
    }

    private func checkJournal(of task: SimulatedTask, _ stage: Stage) {
        let notes = stage.notes(on: task.id).map(\.text)
        #expect(notes.count == 1)
        for word in Self.words(of: task.title) { #expect(notes.first?.contains(word) ?? false, "\(word) in \(notes)") }
        #expect(!(notes.first ?? "").contains("canary"))
    }

    private func checkWebhook(_ title: String, _ stage: Stage) throws {
        let call = try #require(stage.simulation.receivers.received(by: "hook").first)
        let json = try JSON.parse(call.text)
        #expect(json["title"] == .string(title))
        #expect(json["words"] == .string("About \(title)"))
        #expect(call.request.parameter("title") == title)
        #expect(call.request.header("X-Injected") == nil)
    }

    private func checkChat(_ title: String, _ stage: Stage) throws {
        try checkMarkup(of: try #require(stage.simulation.receivers.received(by: "ops").first))
    }

    private func checkMarkup(of message: ReceivedMessage) throws {
        #expect(message.isTaken, "\(message.reason ?? "")")
        let json = try JSON.parse(message.text)
        for text in Self.markup(json) {
            for mention in ["<!channel>", "<@U123>", "<https://evil.example|", "@here <"] {
                #expect(!text.contains(mention), "\(mention) is markup in \(text)")
            }
        }
        #expect(!message.text.contains("canary"))
    }

    /// All texts of a message that Slack reads as markup: everything except plain texts and the texts inside rich text.
    private static func markup(_ json: JSON, isMarkup: Bool = true) -> [String] {
        switch json {
        case .string(let text): return isMarkup ? [text] : []
        case .array(let items): return items.flatMap { markup($0, isMarkup: isMarkup) }
        case .object(let members):
            let type = members["type"]?.asString
            let plain = type == "plain_text" || type == "text" || type == "link"
            return members.flatMap { markup($0.value, isMarkup: isMarkup && !plain) }
        default: return []
        }
    }

    private func checkLogs(_ title: String, _ stage: Stage) throws {
        let text = try String(contentsOfFile: stage.folder.path + "/logs/text.log", encoding: .utf8)
        #expect(text.split(separator: "\n").count == 1, "\(text)")
        #expect(Self.isHarmless(text))
        let lines = try String(contentsOfFile: stage.folder.path + "/logs/json.log", encoding: .utf8)
        #expect(Self.isHarmless(lines))
        let json = try JSON.parse(String(try #require(lines.split(separator: "\n").first)))
        #expect(Self.texts(json).contains(title), "\(json)")
    }

    private func checkCommands(_ title: String, _ run: Program.Ended, _ stage: Stage) async throws {
        #expect(Self.isHarmless(run.errors))
        #expect(Self.isHarmless(run.output))
        for command in [
            ["events"], ["events", "--json"], ["deliveries"], ["deliveries", "--json"], ["status"], ["query", "my-work"],
            ["query", "my-work", "--json"],
        ] {
            let ended = await (try stage.start(command)).end()
            #expect(ended.code == 0, "\(command): \(ended.errors)")
            #expect(Self.isHarmless(ended.output), "\(command): \(ended.output.debugDescription)")
        }
        let events = try await stage.events().filter { $0["type"] == "task_created" }
        #expect(events.map { $0.at("data", "task", "title") } == [.string(title)])
        let event = try #require(events.first?["id"]?.asString)
        for command in [
            ["events", event], ["eval", "--event", event, "task.title"], ["eval", "--json", "--event", event, "task.title"],
        ] {
            let ended = await (try stage.start(command)).end()
            #expect(ended.code == 0, "\(command): \(ended.errors)")
            #expect(Self.isHarmless(ended.output), "\(command): \(ended.output.debugDescription)")
        }
        let id = try #require(try await stage.deliveries().first?["id"]?.asString)
        let whole = try await stage.bellhop("deliveries", "list", id)
        #expect(whole.code == 0)
        #expect(Self.isHarmless(whole.output))
    }

    /// True if the text moves no cursor, sets no colour and does not change the direction of writing.
    private static func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar == "\n"
                || !(scalar.value < 0x20 || scalar.properties.isBidiControl || 0x7f...0x9f ~= scalar.value
                    || scalar == "\u{2028}" || scalar == "\u{2029}")
        }
    }

    private static func words(of title: String) -> [Substring] {
        title.split { $0.isWhitespace || $0.isNewline || !$0.isASCII || $0.asciiValue.map { $0 < 0x20 } ?? true }
    }

    private static func texts(_ json: JSON) -> [String] {
        switch json {
        case .string(let text): [text]
        case .array(let items): items.flatMap { texts($0) }
        case .object(let members): members.flatMap { texts($0.value) }
        default: []
        }
    }
}
