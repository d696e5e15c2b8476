import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Text from people stays text, wherever it is shown or sent.
@Suite(.timeLimit(.minutes(5)), .closing) struct HostileTextTests {
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
              - webhook: {url: "ADDRESS/webhook/x-${{ task.title }}/path", json: {title: "${{ task.title }}"}}
              - update: {fields: {description: "${{ task.title }}"}}
              - create: {to: snow, table: problem, correlation: "${{ task.id }}", fields: {short_description: "${{ task.title }}"}}
              - attach: {name: "${{ task.number }}.txt", text: "${{ task.title }}"}
              - notify:
                  to: [pager, board]
                  title: "${{ task.title }}"
                  thread: "t ${{ task.title }}"
                  mentions: [{user: "${{ task.title }}"}, {group: "${{ task.title }}"}]
              - notify: {to: mail, title: "${{ task.title }}", text: "${{ task.number }}"}
              - notify: {to: ops, title: "${{ task.title }}", text: "**New** ${{ task.title }}", fields: {Title: "${{ task.title }}"}}

        """

    private let mail = SimulatedMail(now: { Int64(Date.now.timeIntervalSince1970 * 1_000_000) })

    /// Sets everything up, with a mail server.
    private func set() async throws -> Stage {
        let port = try await untilTestEnds { [mail] in try await MailServer(mail).serve($0) }
        return try await Stage.set(rules: Self.rules, configuration: { Self.configuration($0, mailPort: port) })
    }

    private static func configuration(_ address: String, mailPort: Int) -> String {
        let more = """
              pager: {kind: pagerduty, url: "\(address)/pagerduty", routing_key: "\(String(repeating: "0", count: 32))", rate: 1000/s}
              board: {kind: mattermost, url: "\(address)/mattermost/hooks/x", rate: 1000/s}
              mail: {kind: email, url: "smtp://127.0.0.1:\(mailPort)", from: bellhop@example.com, to: ops@example.com}
            """
        return Stage.configuration(address, extra: "secrets: [{folder: secrets}]")
            .replacing("\nsources:", with: "\n\(more)\nsources:")
    }

    @Test(arguments: HostileTexts.titles) func `a hostile title arrives as text everywhere`(_ title: String) async throws {
        let stage = try await set()
        try stage.folder.write("secrets/x", Secrets.signing)
        let task = stage.instance.addTask(title: title, assignedTo: Stage.user)
        let run = try await stage.bellhop("run", "--once")
        #expect(run.code == 0, "\(run.errors)")
        #expect(try await stage.deliveries().allSatisfy { $0["state"] == "done" })

        checkJournal(of: task, stage)
        checkWrites(to: task, stage)
        try checkOtherReceivers([title], stage)
        try checkWebhook(title, stage)
        try checkChat(title, stage)
        try checkMails(about: [task])
        try checkLogs(title, stage)
        try await checkCommands(title, run, stage)
    }

    @Test func `every hostile text of the table arrives unchanged, or as harmless text, in one run`() async throws {
        let titles = HostileTexts.all.filter { !$0.isEmpty }
        let stage = try await set()
        try stage.folder.write("secrets/x", Secrets.signing)
        let tasks = titles.map { stage.instance.addTask(title: $0, assignedTo: Stage.user) }
        let run = try await stage.bellhop("run", "--once")
        #expect(run.code == 0, "\(run.errors)")
        #expect(Self.isHarmless(run.errors) && Self.isHarmless(run.output))
        for task in tasks {
            checkJournal(of: task, stage)
            checkWrites(to: task, stage)
        }
        try checkOtherReceivers(titles, stage)
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
        try checkMails(about: tasks)
        for (file, count) in [("text", titles.count), ("json", titles.count)] {
            let lines = try String(contentsOfFile: stage.folder.path + "/logs/\(file).log", encoding: .utf8)
            #expect(lines.split(separator: "\n").count == count, "\(file)")
            #expect(Self.isHarmless(lines), "\(file)")
        }
    }

    @Test(arguments: [
        ["events", "--x\u{1B}[31m\u{9B}2J\u{202E}\u{200B}"], ["status", "x\u{1B}]0;owned\u{7}"],
        ["deliveries", "--state", "de\u{200B}ad\u{1B}[2J"],
        ["events", "--limit", "\u{1B}[31m"], ["wat\u{1B}[31m"], ["run", "--log-level", "\u{202E}gubed"],
    ])
    func `wrong input is quoted as harmless text`(_ arguments: [String]) async throws {
        let stage = try await Stage.set(rules: "")
        let ended = await (try stage.start(arguments)).end()
        #expect(ended.code == 64)
        #expect(ended.output.isEmpty && !ended.errors.isEmpty)
        let controls = ended.errors.unicodeScalars.filter { $0.isControl && $0 != "\n" }
        #expect(controls.isEmpty, "\(ended.errors.debugDescription)")
    }

    private func checkJournal(of task: SimulatedTask, _ stage: Stage) {
        let notes = stage.notes(on: task.id).map(\.text)
        #expect(notes.count == 1)
        for word in Self.words(of: task.title) { #expect(notes.first?.contains(word) ?? false, "\(word) in \(notes)") }
        #expect(!(notes.first ?? "").contains("canary"))
    }

    /// The update and the attachment have the text unchanged.
    private func checkWrites(to task: SimulatedTask, _ stage: Stage) {
        // A text of blanks is an empty field.
        let isBlank = task.title.allSatisfy(\.isWhitespace)
        #expect(stage.instance.task(task.id)?["description"] == (isBlank ? "" : task.title))
        let files = stage.instance.attachments(of: task.id)
        #expect(files.map(\.name) == ["\(task.number).txt"])
        #expect(files.map(\.bytes) == [Array(task.title.utf8)])
    }

    /// As a part of a path, as the key of a thread, and as a mention.
    private func checkOtherReceivers(_ titles: [String], _ stage: Stage) throws {
        let paths = stage.simulation.receivers.received.filter { $0.request.path.hasSuffix("/path") }
        #expect(paths.count == titles.count)
        for call in paths {
            let title = try #require(try JSON.parse(call.text)["title"]?.asString)
            #expect(call.request.path == "/webhook/x-\(title)/path" && call.request.query.isEmpty)
        }
        // Blanks at the ends of a key do not count. Strings that only look alike are different keys.
        let keys = Set(
            titles.map { title in
                var key = Array("t \(title)".unicodeScalars)
                while key.last?.properties.isWhitespace == true { key.removeLast() }
                return key
            })
        #expect(stage.simulation.services.alerts.count == keys.count)
        let board = stage.simulation.chats.messages(in: "mattermost")
        #expect(board.count == titles.count)
        for message in board {
            // The first line has the rule's own mentions, which a text becomes only if it is a name.
            let lines = (message.body["text"]?.asString ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            let hasMentions = lines.first?.wholeMatch(of: /(@[A-Za-z0-9._-]+ ?)+/) != nil
            let text = lines.dropFirst(hasMentions ? 1 : 0).joined(separator: "\n")
            for mention in ["@channel", "@here", "@all", "@everyone", "<!channel>"] {
                #expect(!text.contains(mention), "\(text)")
            }
        }
        let problems = stage.instance.tasks.filter { $0.table == "problem" }.map(\.title)
        #expect(Set(problems.map { Array($0.utf8) }) == Set(titles.map { Array($0.utf8) }))
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

    /// Each title is the subject of one mail, and no more than that.
    private func checkMails(about tasks: [SimulatedTask]) throws {
        #expect(mail.received.count == tasks.count)
        #expect(mail.received.allSatisfy { $0.recipients == ["ops@example.com"] })
        // Strict: a field that a title injects, or a line that it breaks, is an error.
        let mails = try mail.received.map { try MIMEReader($0.bytes) }
        let names = Set(mails.map { $0.head.fields.map(\.name) })
        #expect(names.count == 1, "\(names)")
        for task in tasks {
            let found = try mails.filter { try $0.text.contains(task.number) }
            #expect(found.count == 1)
            guard let subject = try found.first?.subject else { continue }
            // Marks of direction stay, because names in Arabic and Hebrew need them; they reorder nothing around them.
            let refused: [ClosedRange<UInt32>] = [0...0x1f, 0x7f...0x9f, 0x2028...0x202e, 0x2066...0x2069]
            let isHarmless = subject.unicodeScalars.allSatisfy { scalar in !refused.contains { $0.contains(scalar.value) } }
            #expect(isHarmless, "\(subject.debugDescription)")
            for word in Self.words(of: task.title.filter { $0 != "\u{7F}" }) {
                #expect(subject.contains(word), "\(word.debugDescription) in \(subject.debugDescription)")
            }
        }
    }

    private func checkMarkup(of message: ReceivedMessage) throws {
        #expect(message.isAccepted, "\(message.reason ?? "")")
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
