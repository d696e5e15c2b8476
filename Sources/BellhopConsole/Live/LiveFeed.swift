import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules
import Synchronization

/// Sends events to many viewers as they happen. One reader follows the bus for all of them. A viewer that was away or is slow reads
/// what it missed separately, so that viewers neither miss events nor delay each other.
///
/// A class with a mutex, because viewers run on several threads.
final class LiveFeed: Sendable {
    /// An event, encoded once for all viewers.
    struct Item: Sendable {
        var sequence: Int64
        var event: StoredEvent
        var text: String

        init(_ event: StoredEvent) {
            self.event = event
            sequence = event.sequence
            // WHATWG HTML, 9.2: an event ends with an empty line, and JSON has no line ends.
            text = "id: \(event.sequence)\nevent: \(event.event.type.name)\ndata: \(event.json.text)\n\n"
        }
    }

    private struct State {
        var items: [Item] = []
        /// The items are all events after this place, up to `through`.
        var from: Int64 = 0
        /// How far the bus was read; nil until a viewer has reached its end.
        var through: Int64?
        var viewers = 0
        var isStopping = false
    }

    /// The events of some places of the bus, encoded.
    private struct Chunk {
        /// The place before the chunk. The chunk covers the next ``LiveFeed/page`` places.
        var after: Int64
        var items: [Item]
    }

    /// How many of the newest events are kept in memory.
    private static let most = 2000
    private static let page = 500
    /// The most bytes sent at once, unless one event has more. This limits the memory for thousands of viewers.
    private static let maxSent = 16 << 10
    /// The bandwidth of all viewers together, in bytes per second, and how many viewers are served per second: viewers must not slow
    /// routing. With 1,000 viewers each is served about twice a second; a few viewers are not limited.
    private static let (maxBytes, maxServed) = (16 << 20, 2000)
    /// The longest and the shortest pause of a viewer between two pieces; a shorter pause is left out.
    private static let (longestPause, shortestPause) = (Duration.seconds(2), Duration.milliseconds(60))
    /// The longest pause of the reader after a full page: it limits the stream to 5,000 events per second, and later events wait.
    private static let longestReaderPause = Duration.milliseconds(100)
    /// A viewer without matching events gets its place this often: proxies keep the connection, and a viewer that reconnects continues
    /// there. Its credentials are checked as often.
    fileprivate static let pulse = Duration.seconds(15)
    static let maxViewers = 5000

    fileprivate let view: AgentView
    private let state = Mutex(State())
    /// The latest chunks read for viewers that lag behind: one viewer reads at a time, and the others reuse its chunk.
    private let older = Mutex<[Chunk]>([])
    private let gate = FIFOGate()
    fileprivate let bell = Bell()

    init(_ view: AgentView) { self.view = view }

    var viewers: Int { state.withLock(\.viewers) }

    /// Ends all viewers.
    func stop() {
        state.withLock { $0.isStopping = true }
        bell.ring()
        view.eventBell.ring()
    }

    /// Follows the bus until the task is cancelled or the feed stops.
    func follow() async {
        while !Task.isCancelled, !state.withLock(\.isStopping) {
            let rings = view.eventBell.rings
            await readNewEvents()
            await view.eventBell.wait(after: rings, until: view.clock.now + .seconds(5), on: view.clock)
        }
    }

    private func readNewEvents() async {
        while !state.withLock(\.isStopping) {
            guard let after = state.withLock(\.through), let page = await page(after: after), let end = page.end, end > after
            else { return }
            let items = page.events.map(Item.init)
            state.withLock { state in
                guard state.through == after else { return }
                state.items += items
                state.through = end
                if state.items.count > Self.most {
                    let surplus = state.items.count - Self.most
                    state.from = state.items[surplus - 1].sequence
                    state.items.removeFirst(surplus)
                }
            }
            bell.ring()
            if page.events.count >= Self.page, let pause = pause(after: 0) {
                try? await view.clock.sleep(for: min(pause, Self.longestReaderPause))  // throws only when cancelled
            }
        }
    }

    /// How long a viewer pauses after a piece; nil without a pause.
    fileprivate func pause(after bytes: Int) -> Duration? {
        let viewers = viewers
        let ofBytes = Duration.microseconds(bytes * viewers / (Self.maxBytes / 1_000_000))
        let pause = min(Self.longestPause, max(ofBytes, .microseconds(viewers * 1_000_000 / Self.maxServed)))
        return pause < Self.shortestPause ? nil : pause
    }

    private func page(after: Int64, through: Int64? = nil) async -> (events: [StoredEvent], end: Int64?)? {
        try? await view.inquirer.page(EventQuery(after: after, through: through, limit: Self.page))
    }

    /// A new viewer; nil if there are too many.
    ///
    /// - Parameters:
    ///   - after: the place after which it begins; nil for the end of the bus.
    ///   - isAdmitted: whether the viewer's credentials are still valid; checked every ``pulse``.
    ///   - accepts: whether the viewer wants an event; counts the failures of its condition.
    func viewer(
        after: Int64?, isAdmitted: @escaping @Sendable () async -> Bool = { true },
        accepts: @escaping @Sendable (StoredEvent, inout SearchFailures) -> Bool
    ) -> Viewer? {
        let hasRoom = state.withLock { state in
            guard state.viewers < Self.maxViewers else { return false }
            state.viewers += 1
            return true
        }
        guard hasRoom else { return nil }
        return Viewer(ticket: Ticket(self), place: after, isAdmitted: isAdmitted, accepts: accepts, checked: view.clock.now)
    }

    /// Counts a viewer until it is released.
    final class Ticket: Sendable {
        let feed: LiveFeed

        init(_ feed: LiveFeed) { self.feed = feed }
        deinit { feed.leave() }
    }

    /// One viewer. It gets the events after its place as they happen, until the feed stops.
    struct Viewer: ConsoleStream {
        fileprivate let ticket: Ticket
        fileprivate(set) var place: Int64?
        fileprivate let isAdmitted: @Sendable () async -> Bool
        fileprivate let accepts: @Sendable (StoredEvent, inout SearchFailures) -> Bool
        /// When its credentials were checked last.
        fileprivate var checked: Timestamp
        fileprivate var hasBegun = false
        fileprivate var pausedUntil: Timestamp?

        mutating func next() async throws -> String? {
            let feed = ticket.feed
            if !hasBegun {
                // Without the end of the bus, a viewer that begins there would get all stored events.
                guard let end = await feed.end() else {
                    if feed.state.withLock(\.isStopping) { return nil }
                    try await feed.view.clock.sleep(for: .seconds(1))
                    return ": the store does not answer now\n\n"
                }
                hasBegun = true
                let start = min(place ?? end, end)
                // A place after the end of the bus came from another store.
                let note = place.map { start < $0 } == true ? LiveFeed.note(ofOtherBusAt: start) : ""
                place = start
                return "retry: 2000\nid: \(start)\n: watching\n\n" + note
            }
            if let pausedUntil, pausedUntil > feed.view.clock.now {
                try await feed.view.clock.sleep(for: min(pausedUntil - feed.view.clock.now, LiveFeed.longestPause))
            }
            pausedUntil = nil
            var isPulse = false
            while true {
                try Task.checkCancellation()
                // After the clock was set back, the time since the last check is not known.
                if !(Duration.zero..<LiveFeed.pulse).contains(feed.view.clock.now - checked) {
                    guard await isAdmitted() else { return nil }
                    checked = feed.view.clock.now
                    isPulse = true
                }
                let rings = feed.bell.rings
                let before = place ?? 0
                guard let (items, end) = try await feed.items(after: before) else { return nil }
                place = end
                var failures = SearchFailures()
                var text = items.filter { accepts($0.event, &failures) }.map(\.text).joined()
                if failures.count > 0 { text += LiveFeed.note(failures, at: end) }
                if !text.isEmpty {
                    pausedUntil = feed.pause(after: text.utf8.count).map { feed.view.clock.now + $0 }
                    return text
                }
                if isPulse { return "id: \(end)\n: still here\n\n" }
                // The places of pruned events have no items.
                if end > before { continue }
                await feed.bell.wait(
                    after: rings, until: checked + LiveFeed.pulse, on: feed.view.clock, stride: LiveFeed.pulse)
            }
        }
    }

    /// The note about the events up to a place for which the viewer's condition failed.
    private static func note(_ failures: SearchFailures, at place: Int64) -> String {
        "id: \(place)\nevent: \(StreamNote.failures.rawValue)\ndata: \(failures.json.text)\n\n"
    }

    private static func note(ofOtherBusAt place: Int64) -> String {
        "id: \(place)\nevent: \(StreamNote.otherBus.rawValue)\ndata: {\"end\":\(place)}\n\n"
    }

    /// The next items after a place, and the place up to which they go; nil when the feed stops.
    fileprivate func items(after place: Int64) async throws -> (items: [Item], end: Int64)? {
        let (items, isStopping) = state.withLock { state -> ([Item]?, Bool) in
            guard state.through != nil, place >= state.from else { return (nil, state.isStopping) }
            let first = state.items.partitioningIndex { $0.sequence > place }
            return (Self.piece(state.items[first...]), state.isStopping)
        }
        if isStopping { return nil }
        if let items { return (items, items.last?.sequence ?? place) }
        return try await missed(after: place)
    }

    /// The first items, as many as are sent at once.
    private static func piece(_ items: ArraySlice<Item>) -> [Item] {
        var (count, bytes) = (0, 0)
        for item in items where count < page {
            bytes += item.text.utf8.count
            if count > 0, bytes > maxSent { break }
            count += 1
        }
        return Array(items.prefix(count))
    }

    /// The next events of a viewer whose place is before the events in memory.
    private func missed(after place: Int64) async throws -> (items: [Item], end: Int64) {
        if let chunk = await chunk(around: place) {
            let left = chunk.items.drop { $0.sequence <= place }
            let piece = Self.piece(left)
            return (piece, piece.count == left.count ? chunk.after + Int64(Self.page) : piece.last?.sequence ?? place)
        }
        guard let page = await page(after: place) else {
            // The store does not answer now.
            try await view.clock.sleep(for: .seconds(1))
            return ([], place)
        }
        let reached = max(page.end ?? place, place)
        if page.events.isEmpty {
            // The viewer has reached the end of the bus; the reader continues from there for all.
            state.withLock { state in
                if state.through ?? -1 < reached { (state.items, state.from, state.through) = ([], reached, reached) }
            }
            // An event may have been stored since the page was read.
            await readNewEvents()
        }
        let items = page.events.map(Item.init)
        let piece = Self.piece(items[...])
        return (piece, piece.count == items.count ? reached : piece.last?.sequence ?? reached)
    }

    /// The events around a place before the events in memory; nil if the place is not before them.
    private func chunk(around place: Int64) async -> Chunk? {
        let after = place - place % Int64(Self.page)
        let through = after + Int64(Self.page)
        guard state.withLock({ $0.through != nil && $0.from >= through }) else { return nil }
        func known() -> Chunk? { older.withLock { $0.first { $0.after == after } } }
        if let chunk = known() { return chunk }
        await gate.enterUncancelled()
        defer { gate.leave() }
        if let chunk = known() { return chunk }
        var items: [Item] = []
        var reached = after
        while reached < through {
            guard let page = await page(after: reached, through: through) else { return nil }
            items += page.events.map(Item.init)
            guard let end = page.end, end > reached else { break }
            reached = end
        }
        let chunk = Chunk(after: after, items: items)
        older.withLock { older in
            older.append(chunk)
            if older.count > 4 { older.removeFirst() }
        }
        return chunk
    }

    /// Removes a viewer. Without viewers, no events are read or kept.
    fileprivate func leave() {
        state.withLock { state in
            state.viewers -= 1
            if state.viewers == 0 { (state.items, state.from, state.through) = ([], 0, nil) }
        }
        if viewers == 0 { older.withLock { $0 = [] } }
    }

    /// The last place on the bus.
    fileprivate func end() async -> Int64? {
        guard let newest = try? await view.ask(.events(EventQuery(limit: 1))) else { return nil }
        // This place counts unreadable events, too.
        return newest.end["end"]?.asInt ?? 0
    }
}
