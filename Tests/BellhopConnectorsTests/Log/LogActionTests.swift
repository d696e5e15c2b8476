import BellhopConnectors
import BellhopCore
import BellhopTesting
import Foundation
import Testing

struct LogActionTests {
    /// The lines written to standard output.
    private let lines = Recording<String>()
    private let temporary: TemporaryFolder
    private var folder: String { temporary.path }

    init() throws { temporary = try TemporaryFolder() }

    private func action(
        rotation: LogRotation = LogRotation(), below others: [String] = [], own: [LogPlaces.Own] = []
    ) -> LogAction {
        let places = LogPlaces(folders: [folder] + others, own: own)
        return LogAction(baseFolder: folder, places: places, rotation: rotation, sink: { [lines] in lines.add($0) })
    }

    private func perform(_ arguments: JSON.Object, _ action: LogAction) async throws(Failure) -> Receipt {
        try await action.perform(SampleDelivery.make("log", .values(arguments), to: "log"), attempt: SampleDelivery.first)
    }

    private func contents(_ name: String) throws -> String { try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }

    @Test func `a text is written as a line to standard output`() async throws {
        let action = action()
        _ = try await perform(["text": "paged", "level": "warning", "fields": ["n": 1, "who": "Ada L", "e": ""]], action)
        #expect(
            lines.all == [
                #"2026-01-05T09:00:00Z warning [tell-ops] INC0010021: paged n=1 who="Ada L" e="""#
            ])
    }

    @Test func `a quotation mark in a field is escaped, also before an accent`() async throws {
        let action = action()
        _ = try await perform(["text": "x", "fields": ["a": "\"\u{301} b=\"1"]], action)
        let end = Array("x a=\"\\\"".utf8) + Array("\u{301} b=\\\"1\"".utf8)
        #expect(Array((lines.all.first ?? "").utf8.suffix(end.count)) == end)
    }

    @Test func `in JSON a line is an object with all facts of the delivery`() async throws {
        let action = action()
        let delivery = SampleDelivery.make(
            "log", .values(["text": "a\nb", "format": "json", "fields": ["n": 1, "l": ["x"]]]), to: "log")
        _ = try await action.perform(delivery, attempt: SampleDelivery.first)
        let expected: JSON = [
            "time": "2026-01-05T09:00:00.000000Z", "level": "info", "rule": "tell-ops", "task": "INC0010021", "event": "e1",
            "delivery": .string(delivery.id.text), "text": "a\nb", "fields": ["n": 1, "l": ["x"]],
        ]
        #expect(try JSON.parse(lines.all[0]) == expected)
        #expect(!lines.all[0].contains("\n"))
    }

    @Test func `control characters are made visible, and a line stays one line`() async throws {
        let action = action()
        let text: JSON = "a\u{1B}[31m\r\nb\t\u{202E}c\u{9B}d\u{2028}"
        _ = try await perform(["text": text], action)
        #expect(lines.all[0].hasSuffix(#"a\u{1b}[31m\r\nb\t\u{202e}c\u{9b}d\u{2028}"#))
        _ = try await perform(["text": text, "format": "json"], action)
        #expect(lines.all[1].unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0 ~= $0.value) && $0 != "\u{202E}" })
        #expect(try JSON.parse(lines.all[1])["text"] == text)
    }

    @Test func `a log file and its folders are created for their owner only`() async throws {
        let action = action()
        let receipt = try await perform(["text": "one", "file": "logs/deep/pages.log"], action)
        _ = try await perform(["text": "two", "file": "logs/deep/pages.log"], action)
        #expect(receipt.summary == "appended to logs/deep/pages.log")
        #expect(try contents("logs/deep/pages.log").split(separator: "\n").map { $0.suffix(3) } == ["one", "two"])
        let facts = try FileManager.default.attributesOfItem(atPath: folder + "/logs/deep/pages.log")
        #expect(facts[.posixPermissions] as? Int == 0o600)
        #expect(lines.all.isEmpty)
    }

    @Test func `a full log file is renamed, and a limited number are kept`() async throws {
        let action = action(rotation: LogRotation(size: 200, keep: 2))
        for number in 1...20 { _ = try await perform(["text": .string("line \(number)"), "file": "a.log"], action) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["a.log", "a.log.1", "a.log.2"])

        for name in ["a.log", "a.log.1", "a.log.2"] { #expect(try contents(name).utf8.count <= 200) }
        let kept = try (contents("a.log.2") + contents("a.log.1") + contents("a.log")).split(separator: "\n")
        #expect(kept.count >= 6)
        #expect(kept.last?.hasSuffix("line 20") == true)
    }

    @Test func `a line larger than a log file's limit is written completely`() async throws {
        let action = action(rotation: LogRotation(size: 100, keep: 1))
        _ = try await perform(["text": .string(String(repeating: "x", count: 1000)), "file": "a.log"], action)
        #expect(try contents("a.log").utf8.count > 1000)
    }

    @Test func `a log file moved or deleted by other programs is opened again`() async throws {
        let action = action()
        _ = try await perform(["text": "one", "file": "a.log"], action)
        try FileManager.default.moveItem(atPath: folder + "/a.log", toPath: folder + "/old.log")
        _ = try await perform(["text": "two", "file": "a.log"], action)
        try FileManager.default.removeItem(atPath: folder + "/a.log")
        _ = try await perform(["text": "three", "file": "a.log"], action)
        let (old, new) = try (contents("old.log"), contents("a.log"))
        #expect(old.hasSuffix("one\n"))
        #expect(new.hasSuffix("three\n"))
    }

    @Test func `concurrent deliveries write separate lines`() async throws {
        let action = action(rotation: LogRotation(size: 20_000, keep: 100))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let text = JSON.string("begin \(number) " + String(repeating: "x", count: 200) + " end")
                    _ = try await perform(["text": text, "file": .string(number % 2 == 0 ? "a.log" : "./a.log")], action)
                }
            }
            try await group.waitForAll()
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let all = try names.flatMap { try contents($0).split(separator: "\n") }
        #expect(all.count == 500)
        #expect(all.allSatisfy { $0.contains("begin ") && $0.hasSuffix(" end") && $0.count < 320 })
    }

    @Test func `a full disk is reported as such, and the delivery is retried`() async throws {
        let action = action(below: ["/dev"])
        let failure = await #expect(throws: Failure.self) { try await perform(["text": "x", "file": "/dev/full"], action) }
        #expect(failure?.reason == .fileSystem)
        #expect(failure?.remedy == .retry(after: nil))
        #expect(
            failure?.message
                == "The log file /dev/full cannot be written: the disk is full; make room, and the line will be written.")
    }

    @Test(arguments: ["../a.log", "../\u{301}a.log", "logs/../../a.log", "/tmp/../etc/x", "", "logs/", "a\u{0}b"])
    func `a value cannot lead a log file outside its folder`(_ name: String) async throws {
        let action = action()
        let failure = await #expect(throws: Failure.self) { try await perform(["text": "x", "file": .string(name)], action) }
        #expect(failure?.remedy == .giveUp)
    }

    @Test func `a log file lies below the configuration's folder or a named one, wherever links lead`() async throws {
        let outside = try TemporaryFolder()
        let action = action(below: [outside.path + "/logs"])
        try FileManager.default.createSymbolicLink(atPath: folder + "/out", withDestinationPath: outside.path)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/direct.log", withDestinationPath: outside.path + "/x.log")
        try outside.write("x.log", "")
        for name in ["/etc/bellhop.log", outside.path + "/a.log", "out/a.log", "out/deep/a.log", "direct.log"] {
            let failure = await #expect(throws: Failure.self) {
                try await perform(["text": "x", "file": .string(name)], action)
            }
            #expect(failure?.remedy == .giveUp, "\(name)")
            #expect(
                failure?.message.contains("it is neither in the folder of bellhop.yaml") == true, "\(failure?.message ?? "")")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == ["x.log"])
        for name in ["a.log", "deep/er/a.log", "./b.log", outside.path + "/logs/a.log", "out/logs/b.log"] {
            _ = try await perform(["text": "x", "file": .string(name)], action)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path + "/logs").sorted() == ["a.log", "b.log"])
    }

    @Test func `the log action never writes to Bellhop's own files, whatever the path`() async throws {
        let own: [LogPlaces.Own] = [
            .file(folder + "/bellhop.yaml"), .file(folder + "/keychain.json"), .file(folder + "/bellhop.db"),
            .rules(folder + "/rules"), .rules(folder + "/more/*.rules"), .folder(folder + "/secrets"),
        ]
        let action = action(own: own)
        try FileManager.default.createDirectory(atPath: folder + "/rules", withIntermediateDirectories: false)
        for name in ["bellhop.yaml", "keychain.json", "bellhop.db"] {
            try Data("mine".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link.log", withDestinationPath: folder + "/bellhop.yaml")
        try FileManager.default.createSymbolicLink(atPath: folder + "/away", withDestinationPath: folder + "/rules")
        try FileManager.default.createDirectory(atPath: folder + "/rules/deep", withIntermediateDirectories: false)
        try Data("rule: r".utf8).write(to: URL(filePath: folder + "/rules/deep/a.yaml"))
        for (file, link) in [("keychain.json", "hard.log"), ("rules/deep/a.yaml", "rule.log")] {
            try FileManager.default.linkItem(atPath: "\(folder)/\(file)", toPath: "\(folder)/\(link)")
        }
        let names = [
            "bellhop.yaml", "./bellhop.yaml", "bellhop.yaml.new", "keychain.json", "keychain.json.lock", "bellhop.db",
            "bellhop.db-wal", "bellhop.db-shm", "bellhop.db-journal", "bellhop.db.lock", "bellhop.db.sock",
            "bellhop.db.sock.new",
            "bellhop.db.schema-1", "rules/evil.yaml", "rules/deep/evil.yml", "away/evil.yaml", "more/evil.rules", "secrets/x",
            // With the accent, the slash is one character for Swift.
            "link.log", "hard.log", "rule.log", "secrets/\u{301}x", "away/\u{301}evil.yaml",
        ]
        let places = LogPlaces(folders: [folder], own: own)
        for name in names {
            let reason = ["hard.log", "rule.log"].contains(name) ? "this file has other names" : "this file is Bellhop's own"
            // `bellhop check` finds the mistake before anything is written.
            #expect(places.refusal(of: "\(folder)/\(name)")?.hasPrefix(reason) == true, "\(name)")
            let failure = await #expect(throws: Failure.self, "\(name)") {
                try await perform(["text": "x", "file": .string(name)], action)
            }
            #expect(failure?.remedy == .giveUp, "\(name)")
            #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
        }
        for name in ["bellhop.yaml", "keychain.json", "bellhop.db"] { #expect(try contents(name) == "mine") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/rules") == ["deep"])
        for name in ["rules/notes.log", "bellhop.log", "more/notes.log"] {
            _ = try await perform(["text": "x", "file": .string(name)], action)
        }
    }

    @Test func `a folder in place of the log file is reported`() async throws {
        let action = action()
        try FileManager.default.createDirectory(atPath: folder + "/a.log", withIntermediateDirectories: true)
        let failure = await #expect(throws: Failure.self) { try await perform(["text": "x", "file": "a.log"], action) }
        #expect(failure?.message.contains("it is a folder") == true)
    }

    @Test func `a failed write to standard output is retried`() async throws {
        struct Broken: Error {}
        let action = LogAction(baseFolder: "", sink: { _ in throw Broken() })
        let failure = await #expect(throws: Failure.self) { try await perform(["text": "x"], action) }
        #expect(failure?.remedy == .retry(after: nil))
    }
}
