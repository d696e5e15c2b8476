import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Foundation
import Glibc
import Logging
import ServiceLifecycle
import Testing

@testable import BellhopAgent

extension Recording<Int64> {
    /// Adds the sequence number of a row, and returns the number of rows so far.
    @discardableResult
    fileprivate func add(_ row: JSON) -> Int { add(row["sequence"]?.asInt ?? -1) }
}

@Suite(.timeLimit(.minutes(5)), .closing) struct `Answers of a running agent` {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func event(_ number: Int, bytes: Int) -> Event {
        Event(
            id: Event.ID(type: .taskCreated, facts: String(number)), type: .taskCreated, source: "tasks",
            subject: "task/\(number)",
            time: Timestamp(seconds: 1_767_603_600), data: ["text": .string(String(repeating: "x", count: bytes))])
    }

    /// A store with this many events and a control server for it on a socket.
    private func agent(
        events: Int, bytes: Int = 1000, bell: Bell = Bell(), clock: TestClock = TestClock()
    ) async throws -> (any Store, String) {
        let store = try Stores.open(folder.path + "/bellhop.db")
        for start in stride(from: 0, to: events, by: 1000) {
            try await store.append((start..<min(events, start + 1000)).map { Self.event($0, bytes: bytes) })
        }
        let path = folder.path + "/agent.sock"
        let agent = Inquirer.Agent(facts: { [:] }, wake: {}, events: bell, applyKeychainChange: { _, _ in [] })
        let server = ControlServer(
            at: ControlSocket.Place(path: path), inquirer: Inquirer(store: store, clock: clock, agent: agent))
        let service = Task { try await server.run() }
        whenTestEnds { [folder] in
            service.cancel()
            _ = await service.result
            try await store.close()
            // Kept until here: it holds the store's file.
            _ = folder
        }
        while access(path, F_OK) != 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        return (store, path)
    }

    /// Asks on a thread of its own, because asking blocks.
    private func ask(
        _ path: String, _ inquiry: Inquiry, row: @escaping @Sendable (JSON) -> Void = { _ in }
    ) async -> Result<JSON?, InquiryError> {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                do throws(InquiryError) {
                    continuation.resume(
                        returning: .success(try ControlClient(ControlSocket.Place(path: path)).ask(inquiry, row: row)))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        }
    }

    @Test func `an agent that ends leaves the socket of another one that has taken its place`() async throws {
        let path = folder.path + "/agent.sock"
        let inquirer = Inquirer(store: try Stores.inMemory(), clock: TestClock())
        func number() -> NSNumber? {
            try? FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber
        }
        func start() -> Task<Void, any Error> {
            Task { try await ControlServer(at: ControlSocket.Place(path: path), inquirer: inquirer).run() }
        }
        let first = start()
        while number() == nil { await Task.yield() }
        let before = number()
        let second = start()
        while number() == before || number() == nil { await Task.yield() }
        first.cancel()
        _ = await first.result
        #expect(number() != nil)
        second.cancel()
        _ = await second.result
        #expect(number() == nil)
    }

    @Test func `an agent that ends leaves the socket of another one that is about to take its place`() async throws {
        let path = folder.path + "/agent.sock"
        let inquirer = Inquirer(store: try Stores.inMemory(), clock: TestClock())
        let service = Task { try await ControlServer(at: ControlSocket.Place(path: path), inquirer: inquirer).run() }
        while access(path, F_OK) != 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        let next = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(next) }
        let address = try #require(UnixAddress(path + ".new"))
        try #require(address.withPointer { bind(next, $0, $1) } == 0)
        service.cancel()
        _ = await service.result
        #expect(try folder.files.contains("agent.sock.new") && !folder.files.contains("agent.sock"))
    }

    @Test(arguments: [0, 1, 499, 500, 501, 12_000]) func `any number of rows arrives in order`(_ count: Int) async throws {
        let (_, path) = try await agent(events: count)
        let rows = Recording<Int64>()
        let end = try await ask(path, .events(EventQuery(limit: 100_000))) { rows.add($0) }.get()
        #expect(rows.all == (0..<count).map { Int64($0 + 1) })
        #expect(end == ["unreadable": 0, "end": count == 0 ? .null : .int(Int64(count))])
    }

    @Test func `an agent takes the place of a dead socket, and of no other file`() async throws {
        let store = try Stores.open(folder.path + "/bellhop.db")
        let inquirer = Inquirer(store: store, clock: TestClock())
        let path = try folder.write("agent.sock", "mine")
        let server = ControlServer(at: ControlSocket.Place(path: path), inquirer: inquirer)
        let error = await #expect(throws: ControlSocketError.self) { try await server.run() }
        #expect(error?.message.contains("\(path): this file is not a socket") == true)
        #expect(try folder.files.contains("agent.sock") && !folder.files.contains("agent.sock.new"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        unlink(path)
        mkdir(path + ".new", 0o700)
        let unbound = await #expect(throws: ControlSocketError.self) { try await server.run() }
        #expect(unbound?.message.contains("\(path).new: this file is not a socket") == true)
        rmdir(path + ".new")
        let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let address = try #require(UnixAddress(path))
        try #require(address.withPointer { bind(dead, $0, $1) } == 0)
        close(dead)
        let service = Task { try await server.run() }
        while try await ask(path, .deliveries(DeliveryQuery())).get() == nil { try Task.checkCancellation() }
        service.cancel()
        _ = await service.result
        #expect(try !folder.files.contains { $0.hasPrefix("agent.sock") })
        try await store.close()
    }

    @Test func `an event is sent to all followers as soon as it is stored`() async throws {
        let (bell, clock) = (Bell(), TestClock())
        let start = clock.now
        let (store, path) = try await agent(events: 1, bell: bell, clock: clock)
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    let rows = Recording<Int64>()
                    let query = EventQuery(after: 1, types: [.taskCreated])
                    let end = try await ask(path, .events(query, waits: true)) { rows.add($0) }.get()
                    #expect(rows.all == [2])
                    #expect(end?["end"] == 2)
                }
            }
            try await clock.waitForSleepers(3)
            bell.ring()  // without an event, as when rules change
            try await store.append([Self.event(1, bytes: 10)])
            bell.ring()
            try await group.waitForAll()
        }
        #expect(clock.now == start)
    }

    @Test func `a follower gets an answer after a while, even without an event`() async throws {
        let clock = TestClock()
        let (_, path) = try await agent(events: 1, clock: clock)
        async let answer = ask(path, .events(EventQuery(after: 1), waits: true))
        try await clock.waitForSleepers(1)
        await clock.advance(by: .seconds(20))
        #expect(try await answer.get() == ["unreadable": 0, "end": 1])
    }

    @Test func `a follower with a position beyond the end of the bus gets an answer at once: it is another bus`() async throws {
        let (_, path) = try await agent(events: 5, clock: TestClock())
        let end = try await ask(path, .events(EventQuery(after: 99), waits: true)).get()
        #expect(end == ["unreadable": 0, "end": 5, "other_bus": true])
    }

    @Test func `a follower with a filter continues after the events that did not match`() async throws {
        let (bell, clock) = (Bell(), TestClock())
        let (store, path) = try await agent(events: 700, bytes: 10, bell: bell, clock: clock)
        let query = EventQuery(after: 2, types: [.taskRemoved])
        #expect(try await store.events(query).seen == 700)
        async let answer = ask(path, .events(query, waits: true))
        try await clock.waitForSleepers(1)
        try await store.append([Self.event(700, bytes: 10)])
        bell.ring()
        await clock.advance(by: .seconds(20))
        #expect(try await answer.get() == ["unreadable": 0, "end": 701])
        // A page that is full may be followed by more.
        let full = try await store.events(EventQuery(after: 2, types: [.taskCreated], limit: 699))
        #expect(full.end == 701 && full.seen == nil)
        #expect(try await store.events(EventQuery(after: 2, through: 600, types: [.taskRemoved])).seen == 600)
    }

    @Test func `a query with a limit returns the newest rows`() async throws {
        let (_, path) = try await agent(events: 1200, bytes: 10)
        let rows = Recording<Int64>()
        _ = try await ask(path, .events(EventQuery(limit: 700))) { rows.add($0) }.get()
        #expect(rows.all == (501...1200).map { Int64($0) })
    }

    @Test func `a slow reader gets every row, and other clients do not wait for it`() async throws {
        let (_, path) = try await agent(events: 4000)
        let gate = DispatchSemaphore(value: 0)
        let rows = Recording<Int64>()
        async let slow = ask(path, .events(EventQuery(limit: 100_000))) { row in
            // The rest is larger than all buffers between client and server.
            if rows.add(row) == 1 { gate.wait() }
        }
        for _ in 0..<3 {
            let status = try await ask(path, .status).get()
            #expect(status?["events"] == 4000)
        }
        gate.signal()
        let end = try await slow.get()
        #expect(end?["end"] == 4000)
        #expect(rows.all.count == 4000)
    }

    @Test func `a client that disconnects early does not disturb other clients`() async throws {
        let (_, path) = try await agent(events: 2000)
        for _ in 0..<5 {
            let socket = try Self.connected(to: path)
            let question = Array("{\"inquiry\": \"events\", \"limit\": 2000}\n".utf8)
            #expect(send(socket, question, question.count, 0) == question.count)
            var few = [UInt8](repeating: 0, count: 100)
            #expect(recv(socket, &few, few.count, 0) > 0)
            close(socket)
        }
        let status = try await ask(path, .status).get()
        #expect(status?["events"] == 2000)
    }

    @Test(arguments: [
        ("", "ended the conversation", "before its answer was complete;"),
        ("{\"row\": {\"a\": 1}}\n{\"row\": {\"a\"", "ended the conversation", "before its answer was complete, after 1 row;"),
        (
            "{\"row\": {\"a\": 1}}\n{\"row\": {\"a\": 2}}\n", "ended the conversation",
            "before its answer was complete, after 2 rows;"
        ),
        ("{\"result\": []}\n", "cannot be read", "is its version different?"),
        ("{\"error\": {\"kind\": \"store\", \"message\": \"It is full.\", \"store\": \"full\"}}\n", "It is full.", ""),
    ])
    func `an incomplete answer is an error that names the cause`(_ sent: String, _ what: String, _ how: String) async throws {
        let path = folder.path + "/half.sock"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        let address = try #require(UnixAddress(path))
        try #require(address.withPointer { bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
        Thread.detachNewThread {
            let client = accept(listener, nil, nil)
            var question = [UInt8](repeating: 0, count: 4096)
            _ = recv(client, &question, question.count, 0)
            let bytes = Array(sent.utf8)
            _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            close(client)
        }
        guard case .failure(let error) = await ask(path, .events(EventQuery())) else {
            Issue.record("the incomplete answer was accepted")
            return
        }
        #expect(error.message.contains(what) && (how.isEmpty || error.message.contains(how)), "\(error.message)")
    }

    @Test(arguments: [false, true])
    func `an agent that does not answer is reported as silent, also when no further connection to it can wait`(_ isFull: Bool)
        async throws
    {
        let place = ControlSocket.Place(path: folder.path + "/silent.sock")
        let sockets = (0..<2).map { _ in socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        let (listener, other) = (sockets[0], sockets[1])
        try #require(listener >= 0 && other >= 0)
        let address = try #require(UnixAddress(place.path))
        try #require(address.withPointer { bind(listener, $0, $1) } == 0 && listen(listener, isFull ? 0 : 1) == 0)
        if isFull { try #require(address.withPointer { connect(other, $0, $1) } == 0) }
        let error = #expect(throws: InquiryError.self) { _ = try ControlClient(place, timeout: 1).ask(.status) }
        #expect(error?.kind == .silent)
        #expect(error?.message.contains("did not answer for 1 second at") == true)
    }

    @Test func `an answer is read from the store in pages, which are smaller where rows are large`() async throws {
        let store = try Stores.open(folder.path + "/bellhop.db")
        try await store.append((0..<1100).map { Self.event($0, bytes: 10) })
        try await store.append((2000..<2060).map { Self.event($0, bytes: 200_000) })
        var answer = Inquirer(store: store, clock: TestClock()).answer(.events(EventQuery(limit: .max)))
        var pages: [Int] = []
        while case .rows(let rows) = try await answer.next() { pages.append(rows.count) }
        #expect(pages.prefix(2) == [500, 500])
        #expect(pages.reduce(0, +) == 1160)
        #expect(pages.dropFirst(3).allSatisfy { $0 <= 21 }, "\(pages)")
        try await store.close()
    }

    @Test func `an agent that is asked to stop ends the long reads for people`() async throws {
        let (store, path) = (try Stores.open(folder.path + "/bellhop.db"), folder.path + "/agent.sock")
        try await store.append((0..<2000).map { Self.event($0, bytes: 10) })
        let server = ControlServer(at: ControlSocket.Place(path: path), inquirer: Inquirer(store: store, clock: TestClock()))
        let logger = Logger(label: "agent") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        let running = Task { try await group.run() }
        while access(path, F_OK) != 0 { await Task.yield() }
        let unfound = EventQuery(task: "INC9")
        #expect(try await store.events(unfound).isEmpty)
        await group.triggerGracefulShutdown()
        try await running.value
        await #expect(throws: StoreError.self) { try await store.events(unfound) }
        #expect(try await store.status(at: TestClock().now).events == 2000)
        try await store.close()
    }

    @Test func `an agent that is asked to stop while commands connect ends in order`() async throws {
        let path = folder.path + "/agent.sock"
        let address = try #require(UnixAddress(path))
        let inquirer = Inquirer(store: try Stores.inMemory(), clock: TestClock())
        let logger = Logger(label: "agent") { _ in SwiftLogNoOpLogHandler() }
        for _ in 0..<50 {
            let server = ControlServer(at: ControlSocket.Place(path: path), inquirer: inquirer)
            let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
            let running = Task { try await group.run() }
            while access(path, F_OK) != 0 { await Task.yield() }
            let clients = (0..<8).map { _ in socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
            defer { for client in clients { close(client) } }
            for client in clients { #expect(address.withPointer { connect(client, $0, $1) } == 0) }
            await group.triggerGracefulShutdown()
            try await running.value
        }
    }

    @Test func `the tasks of all sources are answered in pages, each task once`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        for (source, count) in [("large", 1100), ("none", 0), ("small", 3)] {
            let scope = Scope(instance: "https://x.example", user: source, kind: "table")
            _ = try await store.open(scope, source: source, at: clock.now)
            let tasks = (0..<count).map { number in
                PollCommit.PresentTask(
                    text: SnapshotText(Snapshot(key: TaskKey("\(number)"), number: "INC\(number)")), listed: .of("a"),
                    content: .of("a"), generation: 1, refreshed: clock.now)
            }
            _ = try await store.commit(
                PollCommit(
                    scope: scope.id, source: source, expectedTurn: 0, at: clock.now, cursor: nil, answer: nil, present: tasks,
                    events: []))
        }
        func pages(_ name: String?) async throws -> [[String]] {
            var answer = Inquirer(store: store, clock: clock).answer(.tasks(name))
            var pages: [[String]] = []
            while case .rows(let rows) = try await answer.next() {
                pages.append(rows.map { "\($0["task"]?["source"]?.asString ?? "")/\($0["task"]?["id"]?.asString ?? "")" })
            }
            return pages
        }
        let all = try await pages(nil)
        #expect(all.map(\.count) == [500, 500, 100, 0, 3])
        #expect(Set(all.joined()).count == 1103)
        #expect(try await pages("INC2").joined().sorted() == ["large/2", "small/2"])
    }

    private static func connected(to path: String) throws -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let address = try #require(UnixAddress(path))
        try #require(address.withPointer { Glibc.connect(socket, $0, $1) } == 0)
        return socket
    }
}
