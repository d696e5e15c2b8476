import BellhopCore
import BellhopTesting
import Foundation
import Simulator
import Testing

/// Stores that cannot be created, written or read.
@Suite(.timeLimit(.minutes(5)), .closing) struct StoreTroubleTests {
    private static let rules = Ledger.rules

    private func configuration(_ store: String) -> (String) -> String {
        { Stage.configuration($0, extra: "store: \(store)") }
    }

    /// The single error sentence of a run that could not start.
    private func sentence(_ ended: Program.Ended) -> Substring? {
        let errors = ended.errors.split(separator: "\n").filter { $0.hasPrefix("error: ") }
        return errors.count == 1 ? errors[0] : nil
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a small disk"))
    func `a full disk is reported, and no change is lost once there is room again`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration("disk/bellhop.db"))
        let disk = try SmallDisk(at: stage.folder.path + "/disk", size: "3m")
        var turmoil = Turmoil(stage.instance, seed: 11)
        for _ in 1...4 { turmoil.happen() }
        let first = try await stage.bellhop("run", "--once")
        #expect(first.code == 0, "\(first.errors)")

        try disk.fill()
        for _ in 1...3 {
            turmoil.happen()
            let full = try await stage.bellhop("run", "--once")
            #expect(full.code == 74, "\(full.errors)")
            #expect(sentence(full)?.contains("full") ?? false, "\(full.errors)")
            stage.time.pass(.seconds(600))
        }
        disk.empty()
        var ordeal = Ordeal(stage, seed: 12)
        try await ordeal.end()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a small disk"))
    func `a disk that fills up is reported, and the agent continues when there is room`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration("disk/bellhop.db"))
        let disk = try SmallDisk(at: stage.folder.path + "/disk", size: "3m")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the first task is acknowledged") { stage.instance.journal.count == 1 }
        try disk.fill()
        // Until the disk is full: as long as the log has room, writes succeed.
        var number = 1
        try await eventually("the full disk is reported") {
            number += 1
            stage.instance.addTask(title: "Number \(number)", assignedTo: Stage.user)
            try await Task.sleep(for: .milliseconds(500))
            return agent.errorsSoFar.contains("is full")
        }
        #expect(agent.isRunning)
        let status = try await stage.bellhop("status")
        #expect(status.output.contains("The store failed") && status.output.contains("is full"), "\(status.output)")
        disk.empty()
        try await eventually("all tasks are acknowledged") {
            stage.instance.tasks.filter { $0.number.hasPrefix("INC") }.allSatisfy { stage.notes(on: $0.id).count == 1 }
        }
        #expect(await agent.stop().code == 0)
        var ordeal = Ordeal(stage, seed: 13)
        try await ordeal.end()
    }

    @Test func `a limit on file sizes is reported, and no change is lost`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        var turmoil = Turmoil(stage.instance, seed: 14)
        for _ in 1...4 { turmoil.happen() }
        let first = try await stage.bellhop("run", "--once")
        #expect(first.code == 0, "\(first.errors)")
        turmoil.happen()
        // Blocks of 512 or 1024 bytes: less than the log's present size.
        let limited = try stage.start(["run", "--once"], under: ["/bin/sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"])
        let ended = await limited.end()
        #expect(ended.code == 74, "\(ended.errors)")
        #expect(sentence(ended) != nil, "\(ended.errors)")
        stage.time.pass(.seconds(600))
        var ordeal = Ordeal(stage, seed: 15)
        try await ordeal.end()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a small disk"))
    func `a store on a read-only disk is reported`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration("disk/bellhop.db"))
        let disk = try SmallDisk(at: stage.folder.path + "/disk", size: "3m")
        try disk.remount(readOnly: true)
        let ended = try await stage.bellhop("run", "--once")
        #expect(ended.code == 73, "\(ended.errors)")
        #expect(sentence(ended)?.contains("disk/bellhop.db") ?? false, "\(ended.errors)")
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a small disk"))
    func `a store on a read-only or a full disk can still be read`() async throws {
        let stage = try await Stage.set(rules: Self.rules, configuration: configuration("disk/bellhop.db"))
        let disk = try SmallDisk(at: stage.folder.path + "/disk", size: "3m")
        try await stage.bellhop("run", "--once")
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        stage.time.pass(.seconds(600))
        #expect(try await stage.bellhop("run", "--once").code == 0)
        let listed = try await stage.bellhop("events", "--json").output
        let task = try #require(stage.instance.tasks.first { $0.title == "One" }?.number)
        let story = try await stage.bellhop("explain", task).output
        #expect(listed.contains(task) && story.contains("task_created"))
        func read(_ state: String) async throws {
            for (command, expected) in [(["events", "--json"], listed), (["explain", task], story)] {
                let ended = try await stage.start(command).end()
                #expect(ended.code == 0 && ended.output == expected, "\(state): \(command): \(ended.errors)")
            }
            for command in [["status"], ["deliveries"], ["backtest", "--since", "7d"]] {
                let ended = try await stage.start(command).end()
                #expect(ended.code < 70 && !ended.output.isEmpty, "\(state): \(command): \(ended.errors)")
            }
        }
        try disk.remount(readOnly: true)
        try await read("read-only")
        try disk.remount(readOnly: false)
        try disk.fill()
        try await read("full")
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this user may not mount a small disk"))
    func `init on a full disk leaves no empty file, and works once there is room`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        let disk = try SmallDisk(at: stage.folder.path + "/disk", size: "96k")
        try FileManager.default.createDirectory(atPath: disk.path + "/new", withIntermediateDirectories: true)
        try disk.fill()
        #expect(try await stage.start(["init", "disk/new", "--instance", "dev1"]).end().code == 74)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path + "/new").isEmpty)
        disk.empty()
        #expect(try await stage.start(["init", "disk/new", "--instance", "dev1"]).end().code == 0)
        #expect(try String(contentsOfFile: disk.path + "/new/bellhop.yaml", encoding: .utf8).contains("dev1"))
    }

    @Test func `an agent whose store is deleted reports that and ends`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("the first task is acknowledged") { stage.instance.journal.count == 1 }
        for end in ["", "-wal", "-shm"] { unlink(stage.folder.path + "/bellhop.db" + end) }
        stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        let ended = await agent.end()
        #expect(ended.code == 73, "\(ended.errors)")
        #expect(sentence(ended)?.contains("was deleted or replaced while it was in use") ?? false, "\(ended.errors)")
        // A delivery that could not be stored was not sent.
        #expect(stage.instance.journal.count == 1)
    }

    @Test func `a damaged store is reported and unchanged`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        try await stage.bellhop("run", "--once")
        let path = stage.folder.path + "/bellhop.db"
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        for index in bytes.indices where index >= 100 { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
        if bytes.count < 200 { bytes += [UInt8](repeating: 7, count: 4000) }
        try Data(bytes).write(to: URL(filePath: path))
        for beside in ["-wal", "-shm"] { unlink(path + beside) }
        for command in [["run", "--once"], ["run"], ["status"], ["events"]] {
            let ended = await (try stage.start(command)).end()
            #expect(ended.code == 73, "\(command): \(ended.errors)")
            #expect(sentence(ended)?.contains("bellhop.db") ?? false, "\(ended.errors)")
        }
        #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes, "the store was changed")
    }

    @Test func `a store locked by another program is reported, and works afterwards`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        try await stage.bellhop("run", "--once")
        let file = open(stage.folder.path + "/bellhop.db", O_RDWR)
        try #require(file >= 0)
        // The bytes that SQLite's readers lock (SQLite's file locking, 6.0).
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        try #require(fcntl(file, F_SETLK, &lock) == 0)
        let task = stage.instance.addTask(title: "Two", assignedTo: Stage.user)
        let locked = try await stage.bellhop("run", "--once")
        #expect(locked.code == 75, "\(locked.errors)")
        #expect(sentence(locked)?.contains("Another program holds the store") ?? false, "\(locked.errors)")
        close(file)
        let free = try await stage.bellhop("run", "--once")
        #expect(free.code == 0, "\(free.errors)")
        #expect(stage.notes(on: task.id).count == 1)
    }

    @Test func `a store with a newer schema is refused and unchanged`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        try await stage.bellhop("run", "--once")
        let path = stage.folder.path + "/bellhop.db"
        // On a busy machine a reader may close after the writer, which then cannot checkpoint the log.
        for _ in 1...5 where FileManager.default.fileExists(atPath: path + "-wal") {
            try await stage.bellhop("run", "--once")
        }
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"), "a successful run leaves a single file")
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        // The user version of the database: 4 bytes from 60, big-endian (SQLite's file format, 1.3).
        bytes[62] = 3
        try Data(bytes).write(to: URL(filePath: path))
        for command in [["run", "--once"], ["status"]] {
            let ended = await (try stage.start(command)).end()
            #expect(ended.code == 73, "\(command): \(ended.errors)")
            #expect(sentence(ended)?.contains("newer") ?? false, "\(ended.errors)")
        }
        #expect([UInt8](try Data(contentsOf: URL(filePath: path))) == bytes, "the store was changed")
    }

    @Test func `all files of the agent are private to its user`() async throws {
        let stage = try await Stage.set(rules: Self.rules)
        stage.instance.addTask(title: "One", assignedTo: Stage.user)
        let agent = try stage.start(["run"])
        try await eventually("it works") { stage.instance.journal.count == 1 }
        for name in try FileManager.default.contentsOfDirectory(atPath: stage.folder.path) where name.hasPrefix("bellhop.db") {
            #expect(try stage.folder.mode(name) & 0o077 == 0, "\(name)")
        }
        #expect(await agent.stop().code == 0)
    }
}
