import BellhopCore
import BellhopTesting
import Foundation
import Glibc
import Testing

@testable import BellhopStore

@Suite struct `Opening a store` {
    private let folder: TemporaryFolder
    private var path: String { folder.file("bellhop.db") }

    private static let openings: [@Sendable (String) throws -> SQLiteStore] = [
        { try SQLiteStore.open(path: $0) }, { try SQLiteStore.openForReading(path: $0) },
    ]

    init() throws { folder = try TemporaryFolder() }

    private func refusal(_ work: () throws -> Void) -> StoreError? {
        do {
            try work()
            return nil
        } catch { return error as? StoreError }
    }

    /// Creates a store with one event and closes it.
    private func make() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        try await store.close()
    }

    private func execute(_ sql: String) throws { try Database(path: path, .writing).execute(sql) }

    private func text(_ sql: String, _ session: Session) throws -> String {
        var statement = try session.prepare(sql)
        return try statement.next() ? statement.text(0) : ""
    }

    @Test func `commits wait for the disk`() async throws {
        let store = try SQLiteStore.open(path: path)
        let (synchronous, journal) = try await store.write { session in
            (try session.int("PRAGMA synchronous"), try text("PRAGMA journal_mode", session))
        }
        #expect(synchronous == 2)  // FULL
        #expect(journal == "wal")
    }

    @Test func `the process that has a store is known while it has it`() async throws {
        #expect(Stores.process(holding: path) == nil)
        let store = try SQLiteStore.open(path: path)
        #expect(Stores.process(holding: path) == getpid())
        try await store.close()
        #expect(Stores.process(holding: path) == nil)
    }

    @Test func `other users cannot read the files of a store`() async throws {
        let old = umask(0)
        defer { umask(old) }
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        for name in ["bellhop.db", "bellhop.db-wal", "bellhop.db-shm", "bellhop.db.lock"] {
            #expect(try folder.mode(name) == 0o600, "\(name)")
        }
        try await store.close()
        chmod(path, 0o644)
        _ = try SQLiteStore.open(path: path)
        #expect(try folder.mode("bellhop.db") == 0o600)
    }

    @Test(arguments: [true, false]) func `a store that lacks a table is damaged`(_ isOpen: Bool) async throws {
        try await make()
        let open = isOpen ? try SQLiteStore.open(path: path) : nil
        try execute("DROP TABLE delivery")
        let store = try open ?? SQLiteStore.openForReading(path: path)
        let error = await #expect(throws: StoreError.self) { _ = try await store.deliveries(DeliveryQuery()) }
        #expect(error?.kind == .damaged)
        #expect(error?.message.contains("no such table: delivery") == true)
    }

    @Test func `a reopened store has everything that was stored`() async throws {
        try await make()
        let store = try SQLiteStore.open(path: path)
        #expect(try await store.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
    }

    @Test func `the error for a second agent names the process that holds the store`() async throws {
        let first = try SQLiteStore.open(path: path)
        let error = try #require(refusal { _ = try SQLiteStore.open(path: path) })
        #expect(error.kind == .busy)
        #expect(error.message.contains("process \(getpid())"))
        #expect(error.message.contains(path))
        try await first.append([Sample.event(1)])
        try await first.close()
    }

    @Test(.timeLimit(.minutes(1))) func `an agent waits for the store that a command has, but not without end`() async throws {
        let first = try SQLiteStore.open(path: path)
        let refused = await #expect(throws: StoreError.self) { _ = try await Stores.open(path, patience: .milliseconds(1)) }
        #expect(refused?.kind == .busy)
        // It tries at once, before the first is closed.
        let waiting = Task.immediate { [path] in try await Stores.open(path, patience: .seconds(60)) }
        try await first.close()
        try await waiting.value.close()
    }

    @Test func `a link to the store, or a deleted lock file, does not admit a second agent`() async throws {
        let store = try SQLiteStore.open(path: path)
        let (symbolic, hard) = (folder.file("symbolic.db"), folder.file("hard.db"))
        try FileManager.default.createSymbolicLink(atPath: symbolic, withDestinationPath: path)
        try FileManager.default.linkItem(atPath: path, toPath: hard)
        #expect(refusal { _ = try SQLiteStore.open(path: symbolic) }?.kind == .busy)
        #expect(refusal { _ = try SQLiteStore.open(path: hard) }?.kind == .busy)
        try FileManager.default.removeItem(atPath: path + ".lock")
        #expect(refusal { _ = try SQLiteStore.open(path: path) }?.kind == .busy)
        try await store.close()
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."))
    func `the lock that a command of root makes belongs to the owner of the store`() async throws {
        try await make()
        unlink(path + ".lock")
        chown(path, 4321, 4321)
        let store = try SQLiteStore.open(path: path)
        var facts = stat()
        #expect(stat(path + ".lock", &facts) == 0 && facts.st_uid == 4321 && facts.st_gid == 4321)
        try await store.close()
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."))
    func `the store that a command of root makes belongs to the owner of its folder`() async throws {
        chown(folder.path, 4321, 4321)
        let store = try SQLiteStore.open(path: path)
        for file in [path, path + ".lock"] {
            var facts = stat()
            #expect(stat(file, &facts) == 0 && facts.st_uid == 4321 && facts.st_gid == 4321, "\(file)")
        }
        try await store.close()
    }

    @Test func `a lock that is a link is refused, and what it leads to stays as it was`() async throws {
        try await make()
        try folder.write("other", "kept")
        unlink(path + ".lock")
        #expect(symlink(folder.file("other"), path + ".lock") == 0)
        let error = try #require(refusal { _ = try SQLiteStore.open(path: path) })
        #expect(error.kind == .cannotOpen && error.message.contains("bellhop.db.lock"))
        #expect(try String(contentsOfFile: folder.file("other"), encoding: .utf8) == "kept")
    }

    @Test func `releasing a store releases its lock`() async throws {
        for _ in 1...3 {
            let store = try SQLiteStore.open(path: path)
            try await store.append([Sample.event(1)])
        }
    }

    @Test func `a store can be read while an agent writes, and after it ends`() async throws {
        let agent = try SQLiteStore.open(path: path)
        try await agent.append([Sample.event(1)])
        let looking = try SQLiteStore.openForReading(path: path)
        #expect(try await looking.status().events == 1)
        try await agent.append([Sample.event(2)])
        #expect(try await looking.events(EventQuery()).count == 2)
        let error = await #expect(throws: StoreError.self) { try await looking.append([Sample.event(3)]) }
        #expect(error?.kind == .other)
        try await looking.close()
        try await agent.close()
        let later = try SQLiteStore.openForReading(path: path)
        #expect(try await later.status().events == 2)
        #expect(try folder.mode("bellhop.db") == 0o600)
    }

    @Test func `reading before the first run is refused, and creates no store`() throws {
        let error = try #require(refusal { _ = try SQLiteStore.openForReading(path: path) })
        #expect(error.kind == .cannotOpen)
        #expect(error.message.contains("bellhop run"))
        #expect(access(path, F_OK) != 0)
    }

    @Test(arguments: [true, false])
    func `a store whose creation was cut short is completed by the next start, behind a link too`(_ isLink: Bool) async throws {
        let half = try TemporaryFolder()
        let creating = try Database(path: half.path + "/half.db", .writing)
        // A small cache, so that an unfinished change is in the file and the journal, as a kill would leave it.
        try creating.execute("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (x)")
        try creating.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO half SELECT randomblob(1000) FROM n"
        )
        let file = isLink ? half.file("linked.db") : path
        for end in ["", "-journal"] {
            try FileManager.default.copyItem(atPath: half.file("half.db") + end, toPath: file + end)
        }
        if isLink { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: file) }
        let error = try #require(refusal { _ = try SQLiteStore.openForReading(path: path) })
        #expect(error.message.contains("not completely created: start the agent"))
        try await make()
        let store = try SQLiteStore.openForReading(path: path)
        #expect(try await store.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
    }

    @Test func `a newer store is refused and unchanged`() async throws {
        try await make()
        try execute("PRAGMA user_version = 99")
        for open in Self.openings {
            let error = try #require(refusal { _ = try open(path) })
            #expect(error.kind == .newer)
            #expect(error.message.contains("99"))
        }
        try execute("PRAGMA user_version = \(Schema.version)")
        let store = try SQLiteStore.open(path: path)
        #expect(try await store.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
    }

    @Test(arguments: Schema.applicationsBeforeRelease)
    func `a store from before the first release is refused and unchanged`(_ application: Int64) async throws {
        try await make()
        try execute("PRAGMA application_id = \(application); PRAGMA user_version = 3")
        for open in Self.openings {
            let error = try #require(refusal { _ = try open(path) })
            #expect(error.kind == .damaged)
            #expect(
                error.message
                    == "The store \(path) was made by a Bellhop from before its first release, which this version cannot read: "
                    + "move the file away, or name another one under `store` in bellhop.yaml.")
        }
        try execute("PRAGMA application_id = \(Schema.application); PRAGMA user_version = \(Schema.version)")
        let store = try SQLiteStore.open(path: path)
        #expect(try await store.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
    }

    @Test func `another program's database is refused and unchanged`() throws {
        try execute("CREATE TABLE song (id INTEGER PRIMARY KEY)")
        chmod(path, 0o644)
        let error = try #require(refusal { _ = try SQLiteStore.open(path: path) })
        #expect(error.kind == .damaged)
        #expect(try folder.mode("bellhop.db") == 0o644)
        #expect(try text("PRAGMA journal_mode", Session(Database(path: path, .reading))) == "delete")
    }

    @Test func `a file that is not a database is refused and unchanged`() throws {
        try "certainly not a database, but long enough to be looked at".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o644)
        for open in Self.openings {
            let error = try #require(refusal { _ = try open(path) })
            #expect(error.kind == .damaged)
            #expect(error.message.contains(path))
        }
        #expect(try folder.mode("bellhop.db") == 0o644)
    }

    @Test func `a pipe in place of the store is refused and unchanged`() throws {
        #expect(mkfifo(path, 0o600) == 0)
        chmod(path, 0o644)
        for open in Self.openings {
            let error = try #require(refusal { _ = try open(path) })
            #expect(error.kind == .cannotOpen)
            #expect(error.message == "The store \(path) is a pipe or a device: `store` must name a file.")
        }
        #expect(try folder.mode("bellhop.db") == 0o644)
        #expect(access(path + ".lock", F_OK) != 0)
    }

    @Test func `a damaged store is reported as damaged`() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.append((1...500).map { Sample.event($0) })
        try await store.close()
        let file = Glibc.open(path, O_RDWR)
        let garbage = [UInt8](repeating: 0xa5, count: 4096)
        for page in 1..<40 { _ = garbage.withUnsafeBytes { pwrite(file, $0.baseAddress, 4096, off_t(page * 4096)) } }
        Glibc.close(file)
        let error = await #expect(throws: StoreError.self) {
            let store = try SQLiteStore.open(path: path)
            _ = try await store.unrouted(limit: 1000)
            _ = try await store.status()
        }
        #expect(error?.kind == .damaged)
        #expect(error?.message.contains(path) == true)
    }

    @Test func `a missing folder and a folder in place of the store have their own messages`() throws {
        let missing = try #require(refusal { _ = try SQLiteStore.open(path: folder.file("no/bellhop.db")) })
        #expect(missing.kind == .cannotOpen)
        #expect(missing.message.contains(folder.file("no")))
        mkdir(path, 0o700)
        let isFolder = try #require(refusal { _ = try SQLiteStore.open(path: path) })
        #expect(isFolder.kind == .cannotOpen)
        #expect(isFolder.message.contains("is a folder"))
    }

    @Test func `an older store is copied before it is upgraded`() async throws {
        try await make()
        var newer = Migrator()
        newer.migrations.append("CREATE TABLE extra (id INTEGER PRIMARY KEY); INSERT INTO extra VALUES (1);")
        let store = try SQLiteStore.open(path: path, migrator: newer, faults: nil)
        #expect(try await store.read { try $0.int("SELECT count(*) FROM extra") } == 1)
        #expect(try await store.unrouted(limit: 9).count == 1)
        try await store.close()

        #expect(try folder.mode("bellhop.db.schema-\(Schema.version)") == 0o600)
        let copy = try SQLiteStore.open(path: folder.file("bellhop.db.schema-\(Schema.version)"))
        #expect(try await copy.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
        // This program now refuses the store, whose schema is too new for it.
        #expect(refusal { _ = try SQLiteStore.open(path: path) }?.kind == .newer)
    }

    /// The way to back up a store that the documentation gives.
    @Test func `VACUUM INTO beside an agent makes a complete store`() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        let other = folder.file("copy.db")
        try execute("VACUUM INTO '\(other)'")
        try await store.append([Sample.event(2)])
        let copy = try SQLiteStore.open(path: other)
        #expect(try await copy.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
    }

    @Test func `a failed migration leaves the old store unchanged`() async throws {
        try await make()
        var newer = Migrator()
        newer.migrations.append("CREATE TABLE extra (id INTEGER PRIMARY KEY); SELECT no_such_function();")
        #expect(refusal { _ = try SQLiteStore.open(path: path, migrator: newer, faults: nil) }?.kind == .other)
        let store = try SQLiteStore.open(path: path)
        #expect(try await store.unrouted(limit: 9).count == 1)
    }

    @Test func `a full disk is reported without loss, and the store recovers`() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.append([Sample.event(1)])
        try await store.write { session in
            let pages = try session.int("PRAGMA page_count")
            try session.database.execute("PRAGMA max_page_count = \(pages + 5)")
        }
        let error = await #expect(throws: StoreError.self) { try await store.append((2...500).map { Sample.event($0) }) }
        #expect(error?.kind == .full)
        #expect(error?.message.contains("full") == true)
        #expect(try await store.unrouted(limit: 9).map(\.event) == [Sample.event(1)])
        #expect(try await store.append([Sample.event(2)]) == 1)
        try await store.write { try $0.database.execute("PRAGMA max_page_count = 1000000") }
        #expect(try await store.append((2...500).map { Sample.event($0) }) == 498)
    }

    @Test func `the store waits for another program that holds the file, then reports it`() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.write { try $0.database.execute("PRAGMA busy_timeout = 10") }
        let other = try Database(path: path, .writing)
        try other.execute("BEGIN IMMEDIATE")
        let error = await #expect(throws: StoreError.self) { try await store.append([Sample.event(1)]) }
        #expect(error?.kind == .busy)
        try other.execute("ROLLBACK")
        #expect(try await store.append([Sample.event(1)]) == 1)
    }

    @Test func `a closed store throws for reads and writes`() async throws {
        let store = try SQLiteStore.open(path: path)
        try await store.close()
        await #expect(throws: StoreError.self) { try await store.append([Sample.event(1)]) }
        await #expect(throws: StoreError.self) { try await store.status() }
    }
}
