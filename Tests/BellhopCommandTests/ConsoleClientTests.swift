import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules
import BellhopTesting
import Testing

@testable import bellhop

@Suite struct `The token in BELLHOP_TOKEN` {
    private func token(_ text: String) throws(CommandError) -> String {
        try ConsoleClient("http://127.0.0.1:8090", environment: ["BELLHOP_TOKEN": text]).token
    }

    @Test(arguments: ["\n", "\r\n", "\r", " ", "\t\n\n"])
    func `line ends and blanks around a token are removed`(_ end: String) throws {
        #expect(try token("bh_0123" + end) == "bh_0123")
        #expect(try token(end + "bh_0123" + end) == "bh_0123")
    }

    @Test(arguments: ["bh_01\nX-Evil: 1", "bh_01\r\nX-Evil: 1", "bh\r01", "bh\u{0}01", "bh\u{7f}"])
    func `a token with a line end or a control character is refused with a message`(_ text: String) {
        #expect { try token(text) } throws: { error in
            let error = error as? CommandError
            return error?.code == .usage && error?.message?.contains("BELLHOP_TOKEN has a line end") == true
        }
    }

    @Test(arguments: ["", "\n", " \r\n"]) func `an empty token counts as missing`(_ text: String) {
        #expect { try token(text) } throws: { ($0 as? CommandError)?.message?.hasPrefix("Set BELLHOP_TOKEN") == true }
    }
}

@Suite struct `The address of a console` {
    @Test(arguments: [
        ("https://ada:hunter2@console.example", "names a user"), ("https://ada:hunter 2@console.example", "names a user"),
        ("https://console.example/?token=hunter2", "has a query"), ("https://console.example/#hunter2", "has a fragment"),
        ("https://console.example?", "has a query"), ("https://console.example/base#", "has a fragment"),
    ])
    func `an address with a user, a query or a fragment is refused without showing it`(_ address: String, _ words: String) {
        #expect {
            try ConsoleClient(address, environment: ["BELLHOP_TOKEN": "bh_0123"])
        } throws: { error in
            let error = error as? CommandError
            let message = error?.message ?? ""
            return error?.code == .usage && message.contains(words) && !message.contains("hunter")
        }
    }

    @Test(arguments: ["https://console.example", "https://console.example/", "https://console.example/bellhop/"])
    func `an address may have a path, as behind a proxy`(_ address: String) throws {
        let client = try ConsoleClient(address, environment: ["BELLHOP_TOKEN": "bh_0123"])
        let path = "\(client.address)".dropFirst("https://".count)
        #expect(path.hasSuffix("/api/v1/inquiries") && !path.contains("//"))
    }
}

@Suite(.closing) struct `The answers of a console` {
    private static func client(_ address: String) throws -> ConsoleClient {
        try ConsoleClient(address, environment: ["BELLHOP_TOKEN": "bh_0123"])
    }

    /// The error of a request; nil if it succeeds.
    private func error(_ ask: () async throws(CommandError) -> Void) async -> CommandError? {
        do throws(CommandError) {
            try await ask()
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        (CannedServer.Answer(type: "text/html", body: "<html>Welcome to nginx!</html>"), "it answered 200 with text/html."),
        (.init(status: "404 Not Found", type: "text/html; charset=utf-8", body: "<html/>"), "it answered 404 with text/html."),
        (.init(body: #"{"status": "UP"}"#), "does not"), (.init(status: "404 Not Found", body: #"{"error": "no"}"#), "404"),
        (
            .init(status: "302 Found", type: "text/html", fields: ["Location: https://login.example/in?key=hunter2"], body: ""),
            "it answered 302 with text/html and leads to https://login.example/in."
        ),
        (.init(status: "401 Unauthorized", type: "text/plain", body: "no"), "it answered 401 with text/plain."),
    ])
    func `an answer of a server other than a console is an error that says so`(
        _ answer: CannedServer.Answer, _ words: String
    ) async throws {
        let server = try CannedServer { _ in answer }
        let client = try Self.client(server.address)
        let errors = [
            await error { () async throws(CommandError) in _ = try await client.ask(.status) { _ in } },
            await error { () async throws(CommandError) in
                try await client.lines(of: try client.address(of: "events/stream", []), [:]) { _ in }
            },
            // A search reads JSON, so other JSON gives another error.
            answer.status == "200 OK" && answer.type == "application/json"
                ? nil
                : await error { () async throws(CommandError) in
                    _ = try await client.search("events", [], limit: 1, lookingAtMost: 1)
                },
        ]
        for error in errors.compactMap(\.self) {
            let message = error.message ?? ""
            #expect(message.contains("\(server.address) does not answer as a Bellhop console"), "\(message)")
            #expect(message.contains(words), "\(message)")
            #expect(!message.contains("hunter2") && !message.contains("cut off"))
            #expect(error.code == (answer.status.hasPrefix("401") ? .loginRefused : .unreachable))
        }
        #expect(errors[0] != nil && errors[1] != nil)
    }

    @Test func `without a server at the address, the error says what to check`() async throws {
        let client = try Self.client("http://127.0.0.1:1")
        let found = await error { () async throws(CommandError) in _ = try await client.ask(.status) { _ in } }
        #expect(found?.code == .unreachable)
        #expect(
            found?.message?.hasSuffix(
                "connection refused. Check the address, and that the agent was started with `console` in bellhop.yaml.") == true)
    }

    @Test(arguments: ["{}", #"{"end": {}}"#, #"{"row": {}}"#, "", "null\n[]"])
    func `an answer with empty or unknown lines is an error, not an empty page`(_ body: String) async throws {
        let server = try CannedServer { _ in .init(type: "application/x-ndjson", body: body + "\n") }
        let client = try Self.client(server.address)
        let found = await error { () async throws(CommandError) in _ = try await client.ask(.status) { _ in } }
        let message = found?.message ?? ""
        #expect(message.contains("cannot read the console's answer") || message.contains("cut off"), "\(message)")
    }

    @Test(arguments: [
        #"{"events": [{}], "next": null, "seen": 1}"#, #"{"events": [{"id": ""}], "next": null, "seen": 1}"#,
        #"{"events": [], "next": 5, "seen": 0}"#, #"{"events": [], "next": "x", "seen": 1}"#, #"{"events": [], "next": null}"#,
        #"{"deliveries": [], "next": null, "seen": 0}"#, "[]",
    ])
    func `a page of a search with empty rows, or without progress, is an error`(_ body: String) async throws {
        let server = try CannedServer { _ in .init(body: body) }
        let client = try Self.client(server.address)
        let found = await error { () async throws(CommandError) in
            _ = try await client.search("events", [], limit: 50, lookingAtMost: 20_000)
        }
        #expect(found?.message?.contains("cannot read the console's answer") == true, "\(found?.message ?? "no error")")
    }

    @Test func `a search reads its pages over one connection, up to the limit of events`() async throws {
        let server = try CannedServer { line in
            let before = line.split(separator: "before=").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) } ?? 100_001
            let rows = #"[{"id": "e\#(before)"}]"#
            return .init(body: #"{"events": \#(rows), "next": \#(before - 500), "seen": 500, "failed": null}"#)
        }
        let found = try await Self.client(server.address).search(
            "events", [("where", "true")], limit: 1000, lookingAtMost: 20_000)
        #expect(found.seen == 20_000 && found.rows.count == 40 && found.next == 80_001)
        #expect(server.asked.count == 40 && server.connections == 1, "\(server.connections)")
    }

    @Test func `the console's diagnostics for a condition are shown with their places`() async throws {
        let mistakes = Diagnostics([
            Diagnostic(
                code: "unknown-name", "there is no `tsk`",
                at: .init(file: "<where>", line: 1, column: 1, length: 3, excerpt: "tsk.title == 'x'"),
                help: "did you mean `task`?", corrected: ["task.title == 'x'"], details: ["It is a task."])
        ])
        let problem: JSON = ["status": 422, "detail": "no", "problems": .array(mistakes.all.map(\.transferJSON))]
        let answer = CannedServer.Answer(status: "422 Unprocessable", type: "application/problem+json", body: problem.text)
        let server = try CannedServer { _ in answer }
        let client = try Self.client(server.address)
        let found = await error { () async throws(CommandError) in
            _ = try await client.search("events", [("where", "tsk.title == 'x'")], limit: 1, lookingAtMost: 1)
        }
        #expect(found?.diagnostics == mistakes && found?.code == .badConfiguration && found?.message == nil)
    }

    @Test func `a condition that is too long is refused before it is sent`() async throws {
        let server = try CannedServer { _ in .init(body: "{}") }
        let client = try Self.client(server.address)
        func search(_ bytes: Int) async -> CommandError? {
            await error { () async throws(CommandError) in
                let text = "'" + String(repeating: "\u{1}", count: bytes - 7) + "'=='x'"
                _ = try await client.search("events", [("where", text)], limit: 1, lookingAtMost: 1)
            }
        }
        let found = await search(8193)
        #expect(found?.code == .badConfiguration && found?.diagnostics?.all.first?.code == "too-long")
        #expect(server.asked.isEmpty)
        // The longest one is sent, however it is encoded.
        #expect(await search(8192)?.message?.contains("cannot read the console's answer") == true && server.asked.count == 1)
    }

    @Test(arguments: ["414 URI Too Long", "431 Request Header Fields Too Large"])
    func `a proxy that refuses a long address is reported with a remedy`(_ status: String) async throws {
        let server = try CannedServer { _ in .init(status: status, type: "text/html", body: "") }
        let client = try Self.client(server.address)
        let found = await error { () async throws(CommandError) in
            _ = try await client.search("events", [], limit: 1, lookingAtMost: 1)
        }
        #expect(found?.message?.contains("shorten the condition") == true)
    }
}

@Suite struct `Server-sent events` {
    private func read(_ text: String, _ events: inout ServerSentEvents) -> [ServerSentEvents.Message] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { events.read(String($0)) }
    }

    @Test func `each event has its type, data and id, and comments are skipped`() {
        var events = ServerSentEvents()
        let found = read("retry: 2000\n: watching\n\nid: 4\nevent: a\ndata: {\ndata:}\n\nid: 5\ndata: x\n\n", &events)
        #expect(found == [.init(type: "a", data: "{\n}", id: "4"), .init(type: "", data: "x", id: "5")])
    }
}

@Suite struct `Following a stream` {
    private static func event(_ place: Int, id: Int? = nil) -> String {
        let event = Event(
            id: Event.ID("e\(id ?? place)"), type: EventType("task_created"), source: "s", subject: "t",
            time: Timestamp(seconds: 0), data: [:])
        return "id: \(id ?? place)\nevent: task_created\ndata: \(event.cloudEvent.text)\n\n"
    }

    private func read(_ text: String, _ stream: inout FollowedStream) -> [FollowedStream.Found] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { stream.read(String($0)) }
    }

    private func ids(_ found: [FollowedStream.Found]) -> [String] {
        found.compactMap { if case .event(let event) = $0 { event["id"]?.asString } else { nil } }
    }

    private func notes(_ found: [FollowedStream.Found]) -> [String] {
        found.compactMap { if case .note(let note) = $0 { note } else { nil } }
    }

    @Test func `a truncated event is dropped together with its position`() {
        var stream = FollowedStream(after: 3, failures: .init())
        let cut = Self.event(5).dropLast(2)
        #expect(ids(read(Self.event(4) + cut + "\n", &stream)) == ["e4"])
        #expect(stream.place == 4)
        stream.restart()
        #expect(ids(read(Self.event(5), &stream)) == ["e5"])
    }

    @Test func `each event is shown once, and a server that repeats events is reported once`() {
        var stream = FollowedStream(after: 3, failures: .init())
        let found = read(Self.event(3) + Self.event(4) + String(repeating: Self.event(4), count: 50) + Self.event(5), &stream)
        #expect(ids(found) == ["e4", "e5"] && notes(found).count == 1)
        stream.restart()
        #expect(read(Self.event(4) + Self.event(5), &stream).isEmpty)
    }

    @Test(arguments: ["{}", "null", "[]", "x", "{\"id\": \"\"}"])
    func `data that is not an event is skipped, and reported once`(_ data: String) {
        var stream = FollowedStream(after: 3, failures: .init())
        let found = read((4..<50).map { "id: \($0)\ndata: \(data)\n\n" }.joined() + Self.event(50), &stream)
        #expect(ids(found) == ["e50"] && notes(found).count == 1)
    }

    @Test func `a stream continues after the place that the console tells, also without events`() {
        var stream = FollowedStream(after: 3, failures: .init())
        #expect(read("retry: 2000\nid: 3\n: watching\n\n" + Self.event(4) + "id: 9\n: still here\n\n", &stream).count == 1)
        #expect(stream.place == 9)
        // The end of a replaced store comes before the note about it.
        #expect(notes(read("id: 7\n\nid: 7\nevent: bus.replaced\ndata: {\"end\":7}\n\n", &stream)).isEmpty)
        stream.restart()
        #expect(notes(read("id: 7\n\nid: 7\nevent: bus.replaced\ndata: {\"end\":7}\n\n", &stream)) == [Events.replaced])
        #expect(stream.place == 7)
    }

    @Test func `an event without an id is not shown`() {
        var stream = FollowedStream(after: 3, failures: .init())
        let event = Self.event(4).split(separator: "\n", maxSplits: 1)[1]
        #expect(ids(read(String(event), &stream)).isEmpty)
    }

    @Test func `after the store is replaced the positions begin again, and a note says so`() {
        var stream = FollowedStream(after: 900, failures: .init())
        let found = read("id: 7\nevent: bus.replaced\ndata: {\"end\":7}\n\n" + Self.event(8), &stream)
        #expect(ids(found) == ["e8"] && notes(found) == [Events.replaced] && stream.place == 8)
    }
}
