import BellhopAgent
import BellhopCore
import BellhopTesting
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import BellhopConsole

@Suite(.timeLimit(.minutes(5))) struct `The live stream` {
    let fixture: ConsoleFixture

    init() async throws { fixture = try await ConsoleFixture() }

    private static func sequences(_ text: String) -> [Int64] {
        text.split(separator: "\n\n").filter { $0.contains("\ndata: ") }.compactMap { event in
            event.hasPrefix("id: ") ? Int64(event.dropFirst(4).prefix { $0 != "\n" }) : nil
        }
    }

    /// Reads until a viewer has seen an event.
    private static func read(_ viewer: inout LiveFeed.Viewer, until last: Int64) async throws -> [Int64] {
        var seen: [Int64] = []
        while seen.last ?? 0 < last, let text = try await viewer.next() { seen += sequences(text) }
        return seen
    }

    @Test func `each viewer sees each event once, even if it comes late, is slow or was away`() async throws {
        _ = try await fixture.happen((0..<5).map { "Before \($0)" })
        let feed = fixture.feed
        let following = Task { await fixture.feed.follow() }
        defer { following.cancel() }
        var early = try #require(feed.viewer(after: 0) { _, _ in true })
        var new = try #require(feed.viewer(after: nil) { _, _ in true })
        _ = try await new.next()
        #expect(try await Self.read(&early, until: 5) == [1, 2, 3, 4, 5])
        _ = try await fixture.happen((0..<3000).map { "Burst \($0)" }, from: 10)
        #expect(try await Self.read(&early, until: 3005) == Array(6...3005))
        #expect(try await Self.read(&new, until: 3005) == Array(6...3005))
        // The connection breaks, and the browser begins again behind the last event that it has.
        var again = try #require(feed.viewer(after: 17) { _, _ in true })
        #expect(try await Self.read(&again, until: 3005) == Array(18...3005))
        _ = try await fixture.happen(["Last"], from: 5000)
        for var viewer in [early, new, again] { #expect(try await Self.read(&viewer, until: 3006) == [3006]) }
    }

    @Test func `a viewer beyond the end of the bus is informed that it was replaced, and gets new events`() async throws {
        _ = try await fixture.happen((0..<5).map { "Before \($0)" })
        let following = Task { await fixture.feed.follow() }
        defer { following.cancel() }
        var viewer = try #require(fixture.feed.viewer(after: 999) { _, _ in true })
        #expect(try await viewer.next()?.contains("id: 5\nevent: bus.replaced\n") == true)
        var other = try #require(fixture.feed.viewer(after: 5) { _, _ in true })
        #expect(try await other.next()?.contains("bus.replaced") == false)
        _ = try await fixture.happen(["Next"], from: 10)
        #expect(try await Self.read(&viewer, until: 6) == [6])
    }

    @Test func `many viewers that reconnect while events arrive miss no event`() async throws {
        let feed = fixture.feed
        let following = Task { await fixture.feed.follow() }
        defer { following.cancel() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask {
                    var (place, seen): (Int64, [Int64]) = (0, [])
                    while place < 600 {
                        // Each viewer disconnects after another number of pieces.
                        var viewer = feed.viewer(after: place) { _, _ in true }!
                        for _ in 0..<(2 + number % 5) where place < 600 {
                            guard let text = try await viewer.next() else { return false }
                            seen += Self.sequences(text)
                            place = seen.last ?? place
                        }
                    }
                    return seen == Array(1...600)
                }
            }
            for batch in 0..<60 {
                _ = try await fixture.happen((0..<10).map { "\($0)" }, from: batch * 10)
                await Task.yield()
            }
            for try await isWhole in group { #expect(isWhole) }
        }
        #expect(feed.viewers == 0)
    }

    @Test func `a viewer with filters gets matching events and keep-alive comments`() async throws {
        let following = Task { await fixture.feed.follow() }
        defer { following.cancel() }
        _ = try await fixture.happen(["Printer", "Scanner", "Printer"])
        let answer = await fixture.api("GET", "/events/stream?after=0&where=" + PercentEncoding.encode("task.title == 'Printer'"))
            .answer
        var stream = try answer.stream
        #expect(answer.field("Content-Type") == "text/event-stream")
        #expect(try await stream.next()?.hasPrefix("retry: ") == true)
        #expect(Self.sequences(try await stream.next() ?? "") == [1, 3])
        let clock = fixture.clock
        let ticking = Task { while !Task.isCancelled { await clock.advance(by: .seconds(1)); await Task.yield() } }
        defer { ticking.cancel() }
        #expect(try await stream.next() == "id: 3\n: still here\n\n")
        // What the condition leaves out is not read again after a broken connection.
        _ = try await fixture.happen(["Scanner"], from: 10)
        while let text = try await stream.next(), text != "id: 4\n: still here\n\n" {
            #expect(text == "id: 3\n: still here\n\n")
        }
    }

    @Test func `a viewer that has seen no event yet continues where it began`() async throws {
        _ = try await fixture.happen(["Before", "Before"])
        func begin(_ fields: [(String, String)] = []) async throws -> any ConsoleStream {
            try await fixture.api("GET", "/events/stream", headers: fields).answer.stream
        }
        var cut = try await begin()
        #expect(try await cut.next() == "retry: 2000\nid: 2\n: watching\n\n")
        // The connection breaks, and an event happens before the browser comes back.
        _ = try await fixture.happen(["Meanwhile"], from: 10)
        var again = try await begin([("Last-Event-ID", "2")])
        _ = try await again.next()
        #expect(Self.sequences(try await again.next() ?? "") == [3])
    }

    @Test func `a viewer that reads many events without a match gets its place on the way`() async throws {
        _ = try await fixture.happen((0..<2000).map { "Scanner \($0)" })
        var viewer = try #require(fixture.feed.viewer(after: 0) { _, _ in false })
        _ = try await viewer.next()
        await fixture.clock.jump(to: fixture.clock.now + .seconds(15))
        let text = try await viewer.next() ?? ""
        let place = text.hasPrefix("id: ") ? Int64(text.dropFirst(4).prefix { $0 != "\n" }) : nil
        #expect(text.hasSuffix("\n: still here\n\n") && 1..<2000 ~= place ?? 0, "\(text)")
    }

    @Test(.timeLimit(.minutes(1)))
    func `a viewer that was away passes pruned events without a pause`() async throws {
        _ = try await fixture.happen((0..<2000).map { "Old \($0)" })
        try await fixture.store.route(Routing(routed: Array(1...2000)))
        // Pruning keeps only the last event of the bus.
        _ = try await fixture.store.prune(Retention(), at: fixture.clock.now + .days(60))
        var ahead = try #require(fixture.feed.viewer(after: 1990) { _, _ in true })
        #expect(try await Self.read(&ahead, until: 2000) == [2000])
        // This viewer reaches the end of the bus, from where the feed keeps events in memory.
        await fixture.clock.jump(to: fixture.clock.now + .seconds(15))
        _ = try await ahead.next()
        var away = try #require(fixture.feed.viewer(after: 1) { _, _ in true })
        #expect(try await Self.read(&away, until: 2000) == [2000])
    }

    @Test func `each piece stays small, even if a viewer is far behind`() async throws {
        _ = try await fixture.happen((0..<3000).map { "Before \($0) " + String(repeating: "x", count: 500) })
        let feed = fixture.feed
        let following = Task { await fixture.feed.follow() }
        defer { following.cancel() }
        var ahead = try #require(feed.viewer(after: 2990) { _, _ in true })
        #expect(try await Self.read(&ahead, until: 3000) == Array(2991...3000))
        _ = try await fixture.happen((0..<100).map { "Now \($0)" }, from: 4000)
        #expect(try await Self.read(&ahead, until: 3100) == Array(3001...3100))
        for start: Int64 in [0, 1, 777, 2999, 3090] {
            var viewer = try #require(feed.viewer(after: start) { _, _ in true })
            var (seen, most): ([Int64], Int) = ([], 0)
            while seen.last ?? 0 < 3100, let text = try await viewer.next() {
                seen += Self.sequences(text)
                most = max(most, text.utf8.count)
            }
            #expect(seen == Array((start + 1)...3100) && most <= 16 << 10, "\(start): \(most)")
        }
    }

    @Test func `with more viewers, each waits longer between pieces`() async throws {
        _ = try await fixture.happen((0..<3).map { "Task \($0)" })
        let feed = fixture.feed
        func rest(_ viewers: Int) async throws -> Duration {
            let others = (1..<viewers).compactMap { _ in feed.viewer(after: nil) { _, _ in true } }
            var viewer = try #require(feed.viewer(after: 0) { _, _ in true })
            _ = try await viewer.next()
            _ = try await viewer.next()
            _ = try await fixture.happen(["Another"], from: 10 * viewers)
            let start = fixture.clock.now
            let waiting = Task { [viewer] in
                var viewer = viewer
                return try await viewer.next()
            }
            let isOver = Mutex(false)
            let watch = Task {
                _ = try await waiting.value
                isOver.withLock { $0 = true }
            }
            while !isOver.withLock({ $0 }) {
                for _ in 0..<50 { await Task.yield() }
                // The clock stands still while the viewer works: only a rest takes time.
                if !isOver.withLock({ $0 }), fixture.clock.nextDeadline != nil {
                    await fixture.clock.advance(by: .milliseconds(1))
                }
            }
            _ = try await watch.value
            return withExtendedLifetime(others) { fixture.clock.now - start }
        }
        #expect(try await rest(1) < .milliseconds(20))
        let many = try await rest(1000)
        #expect(many >= .milliseconds(250) && many < .milliseconds(600), "\(many)")
    }

    @Test func `the console's threads have a low priority`() async throws {
        @Sendable func priority() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        let threads = LowPriorityThreads(count: 2)
        let before = priority()
        let (inside, nested) = await withTaskExecutorPreference(threads) {
            async let nested = priority()
            return (priority(), await nested)
        }
        await threads.stop()
        #expect(inside == 15 && nested == 15)
        // Other threads keep their priority.
        #expect(before == priority() && before < 15)
        let loop = LowPriorityThreads.loop()
        #expect(try await loop.next().submit { priority() }.get() == 15)
        try await loop.shutdownGracefully()
    }

    @Test func `the stream reports for how many events its condition failed, and continues after them`() async throws {
        _ = try await fixture.happen(["Printer", "Mail", "Mail"])
        let condition = PercentEncoding.encode("task.title == 'Printer' || [1][task.title.size()] == 2")
        func read(_ query: String, _ fields: [(String, String)] = []) async throws -> String {
            let answer = await fixture.api("GET", "/events/stream?where=\(condition)" + query, headers: fields).answer
            var lines = try answer.stream
            _ = try await lines.next()
            return try await lines.next() ?? ""
        }
        let text = try await read("&after=0")
        let notes = text.split(separator: "\n\n").filter { $0.contains("event: condition.failed\n") }
        #expect(Self.sequences(text) == [1, 3] && notes.count == 1, "\(text)")
        #expect(notes[0].contains("\"count\":2,\"error\":\""), "\(text)")
        // A connection that breaks after the note does not get it again.
        _ = try await fixture.happen(["Printer"], from: 10)
        let rest = try await read("", [("Last-Event-ID", "3")])
        #expect(Self.sequences(rest) == [4] && !rest.contains("condition.failed"), "\(rest)")
        let document = await fixture.api("GET", "/openapi.json").json
        let answer = document.at("paths", "/events/stream", "get", "responses", "200", "content", "text/event-stream")
        #expect(answer?.at("schema", "description")?.asString?.contains("`condition.failed`") == true)
    }

    @Test func `a feed that stops ends its viewers`() async throws {
        var viewer = try #require(fixture.feed.viewer(after: nil) { _, _ in true })
        _ = try await viewer.next()
        fixture.feed.stop()
        #expect(try await viewer.next() == nil)
    }

    @Test func `a viewer begins only once the store says where the bus ends`() async throws {
        _ = try await fixture.happen(["Printer"])
        try await fixture.store.close()
        var viewer = try #require(fixture.feed.viewer(after: nil) { _, _ in true })
        let clock = fixture.clock
        let ticking = Task { while !Task.isCancelled { await clock.advance(by: .seconds(1)); await Task.yield() } }
        defer { ticking.cancel() }
        for _ in 0..<2 { #expect(try await viewer.next() == ": the store does not answer now\n\n") }
        fixture.feed.stop()
        #expect(try await viewer.next() == nil)
    }

    @Test func `a viewer's credentials are checked after the clock was set back`() async throws {
        var viewer = try #require(fixture.feed.viewer(after: nil, isAdmitted: { false }) { _, _ in true })
        _ = try await viewer.next()
        await fixture.clock.jump(to: fixture.clock.now - .seconds(3600))
        #expect(try await viewer.next() == nil)
    }

    @Test func `a Last-Event-ID that the server did not send is refused`() async throws {
        #expect(await fixture.api("GET", "/events/stream", headers: [("Last-Event-ID", "x")]).status == 400)
    }
}
