import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

@Suite(.closing) struct AttachActionTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    var files: [SimulatedAttachment] { instance.attachments(of: task.id) }

    init() { task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe") }

    private func attach(_ arguments: JSON.Object, name: String = "log.txt") -> Delivery {
        var arguments = arguments
        arguments["name"] = .string(name)
        return .write("attach", arguments, on: task.id, class: "")
    }

    static let contents: [(JSON.Object, String, [UInt8])] = [
        (["text": "Zeile ä"], "text/plain; charset=utf-8", Array("Zeile ä".utf8)),
        (["json": ["a": 1]], "application/json", Array(#"{"a":1}"#.utf8)),
        (["base64": "AAEC/w=="], "application/octet-stream", [0, 1, 2, 255]),
        (["text": "a,b", "type": "text/csv"], "text/csv", Array("a,b".utf8)),
    ]

    @Test(arguments: contents)
    func `a file is attached to the task with its name, its type and every byte`(
        _ arguments: JSON.Object, _ type: String, _ bytes: [UInt8]
    ) async throws {
        let receipt = try await practice.perform(attach(arguments, name: "ä b&c^d.txt"), practice.attempt(1))
        let file = try #require(files.first)
        #expect(file.name == "ä b&c^d.txt")
        #expect(file.type == type)
        #expect(file.bytes == bytes)
        #expect(file.table == "incident")
        #expect(receipt.reference == file.id)
    }

    @Test func `a file with the same name and bytes is attached once, and a different one is added`() async throws {
        for text in ["one", "one", "two"] { _ = try await practice.perform(attach(["text": .string(text)]), practice.attempt(1)) }
        #expect(files.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one", "two"])
    }

    @Test(arguments: WriteFault.all)
    func `a file is attached exactly once, whatever the network does`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/attachment", skip: 1, times: 1)
        _ = try await practice.persist(attach(["text": "x"]))
        #expect(files.count == 1)
    }

    @Test(arguments: WriteFault.all)
    func `a file is attached exactly once on an instance without hashes`(_ writeFault: WriteFault) async throws {
        instance.settings.hashesAttachments = false
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/attachment", skip: 1, times: 1)
        _ = try await practice.persist(attach(["text": "x"]))
        #expect(files.count == 1)
    }

    @Test func `without hashes, a file is found although the end of the successful attempt was not stored`() async throws {
        instance.settings.hashesAttachments = false
        _ = try await practice.perform(attach(["text": "x"]), practice.attempt(1))
        await practice.clock.advance(by: .seconds(300))
        _ = try await practice.perform(attach(["text": "x"]), practice.attempt(2, uncertain: Practice.start))
        #expect(files.count == 1)
    }

    @Test func `after the store is restored, a file without a hash is found by the server's own clock`() async throws {
        let clock = practice.clock
        var settings = InstanceSettings()
        settings.hashesAttachments = false
        let simulation = Simulation(settings: settings) { clock.now.microseconds - 7_200_000_000 }
        simulation.instance.addUser("john.doe", password: "correct horse")
        let task = simulation.instance.addTask(title: "Printer", assignedTo: "john.doe")
        let delivery = Delivery.write("attach", ["name": "log.txt", "text": "x"], on: task.id)
        let backup = clock.now
        let action = try AttachAction(connection: practice.connection(await simulation.serve()))
        await clock.advance(by: .seconds(60))
        _ = try await action.perform(delivery, attempt: practice.attempt(1))
        await clock.advance(by: .seconds(60))
        var restored = practice.attempt(1)
        restored.mayRepeat = backup..<clock.now
        _ = try await action.perform(delivery, attempt: restored)
        #expect(simulation.instance.attachments(of: task.id).count == 1)
    }

    @Test func `a connection with a longer time limit waits longer for a lost request`() throws {
        let connection = try practice.connection("http://127.0.0.1:9", settings: ["timeout": 120_000_000])
        #expect(AttachAction(connection: connection).times.quiet == .seconds(210))
    }

    @Test func `with an API key, another user's file is not mistaken for ours, and ours is recognized`() async throws {
        instance.settings.hashesAttachments = false
        instance.addAPIKey("key-john", of: "john.doe")
        instance.addAPIKey("key-abel", of: "abel.tuter")
        func perform(_ text: String, as key: String, _ attempt: Attempt) async throws -> Receipt {
            try await practice.perform(attach(["text": .string(text)]), attempt, settings: ["auth": ["api_key": .string(key)]])
        }
        practice.simulation.faults.add(.resetBefore, "POST")
        let lost = await failure { _ = try await perform("one", as: "key-john", practice.attempt(1)) }
        #expect(lost?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(150))
        let start = practice.clock.now
        // With the same name and size.
        _ = try await perform("two", as: "key-abel", Attempt(number: 1, now: start))
        practice.simulation.faults.add(.resetAfter, "POST")
        let receipt = try await perform("one", as: "key-john", practice.attempt(2, uncertain: Practice.start))
        #expect(files.map(\.author) == ["abel.tuter", "john.doe"])
        #expect(receipt.summary.hasPrefix("found written (") && receipt.reference == files.last?.id)
    }

    @Test(arguments: WriteFault.refusals)
    func `an attachment that was stored although the answer was a refusal is found`(_ writeFault: WriteFault) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: "POST", takesEffect: writeFault.takesEffect))
        #expect(try await practice.perform(attach(["text": "x"]), practice.attempt(1)).summary.hasPrefix("found written ("))
        #expect(files.count == 1)
    }

    @Test func `if files cannot be read, a delivery whose answer was lost is held`() async throws {
        instance.changeUser("john.doe") { $0.attachments = .hidden }
        practice.simulation.faults.add(.resetAfter, "POST")
        let delivery = attach(["text": "x"])
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(200))
        #expect(await practice.failing(delivery, practice.attempt(2, uncertain: Practice.start))?.remedy == .hold)
        #expect(files.count == 1)
        // A person looked, and orders a retry.
        _ = try await practice.perform(delivery, practice.attempt(1, uncertain: Practice.start))
        #expect(files.count == 2)
    }

    @Test(
        arguments: [
            [:], ["text": ""], ["text": "x", "json": 1], ["base64": "no base 64!"], ["text": "x", "type": "a\r\nb: c"],
            ["text": .string(String(repeating: "x", count: Attachment.most + 1))],
        ] as [JSON.Object])
    func `arguments that describe no file are given up without a request`(_ arguments: JSON.Object) async throws {
        #expect(await practice.failing(attach(arguments), practice.attempt(1))?.remedy == .giveUp)
        #expect(practice.simulation.requests.total == 0)
    }

    @Test(arguments: ["", " \t"]) func `an empty file name is given up without a request`(_ name: String) async throws {
        #expect(await practice.failing(attach(["text": "x"], name: name), practice.attempt(1))?.reason == .badArguments)
        #expect(practice.simulation.requests.total == 0)
    }

    static let names: [(String, String)] = [
        ("Printer 1/2 \\ \"on fire\"?.txt", "Printer 1-2 - -on fire--.txt"), ("a\nb", "a-b"), ("..", "--"),
        ("javascript:x", "javascript-x"), (" a.txt ", "a.txt"),
        (String(repeating: "n", count: 300) + ".tar.gz", String(repeating: "n", count: 97) + ".gz"),
        ("One. " + String(repeating: "n", count: 300), "One. " + String(repeating: "n", count: 95)),
        (
            String(repeating: "n", count: 100) + ".e" + String(repeating: "\u{301}", count: 100),
            String(repeating: "n", count: 100)
        ),
        (String(repeating: "👩‍👩‍👧", count: 40) + ".txt", String(repeating: "👩‍👩‍👧", count: 19) + ".txt"),
    ]

    @Test(arguments: names)
    func `a file named after a title keeps its extension and the allowed characters`(_ title: String, _ name: String) async throws
    {
        for _ in 0..<2 { _ = try await practice.perform(attach(["text": "x"], name: title), practice.attempt(1)) }
        #expect(files.map(\.name) == [name])
    }
}
