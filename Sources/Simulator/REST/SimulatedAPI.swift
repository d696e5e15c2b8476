import Synchronization

/// A small issue tracker with a JSON API under `/rest/v1`, as there are many: each way of paging has a path of its own.
///
/// | path | answer |
/// |---|---|
/// | `GET /list?state=&updated_since=` | an array of all |
/// | `GET /link?page=&per_page=` | an array, the next page in a `Link` field |
/// | `GET /page?page=&per_page=` | `{"items": […], "total": n}` |
/// | `GET /offset?offset=&limit=` | `{"issues": […], "total_count": n}` |
/// | `GET /cursor?cursor=&limit=` | `{"data": {"items": […]}, "next": "…"}` |
/// | `POST /search` `{"query": …, "startAt": 0, "maxResults": 50}` | `{"issues": [{"id", "key", "fields": {…}}], "total": n}` |
/// | `POST /issues`, `GET`, `PUT`, `PATCH` and `DELETE /issues/{id}` | the issue; a repeated `Idempotency-Key` is answered as before |
///
/// A class over a lock, because the server's tasks answer from it while tests change it.
public final class SimulatedAPI: Sendable {
    public struct Issue: Sendable, Hashable {
        public var id: Int
        public var title: String
        public var state: String
        public var priority: Int
        /// Microseconds since 1970 UTC.
        public var updated: Int64
    }

    /// What it does wrongly, on demand.
    public enum Quirk: String, Sendable, Hashable, CaseIterable {
        /// The link to the next page leads to another host.
        case poisonedLink = "poisoned_link"
        /// The link to the next page leads to the page itself.
        case circularLink = "circular_link"
        /// The next cursor is always the same.
        case sameCursor = "same_cursor"
        /// Whichever page is asked for, the first one comes.
        case ignoresPaging = "ignores_paging"
        /// The last issue has no id.
        case missingID = "missing_id"
        /// An issue is deleted each time a page was read.
        case shrinking
        /// No page has more than three issues, however many are asked for.
        case capsPages
        /// Pages from the second on are empty, whatever their number says.
        case losesPages
        /// Each answer sets forty cookies of 1.5 KB, with other names each time.
        case hoardsCookies = "hoards_cookies"
        /// A page beyond the last is not there: 404.
        case missesPages = "misses_pages"
        /// The first issue says that it was changed at the end of the year 9999.
        case farFuture
        /// An `Idempotency-Key` means nothing, as on most servers.
        case forgetsKeys
        /// 304 to everybody, also to those who have nothing.
        case alwaysUnchanged
        /// What is wrong is said with the token in it.
        case echoes
        /// An unknown parameter is ignored, as most servers do, instead of refused.
        case sloppyQueries = "sloppy_queries"
    }

    /// Who is let in.
    public enum Door: Sendable, Hashable {
        case open
        /// Requests that carry this field with this value.
        case field(String, String)
    }

    struct State: Sendable {
        var issues: [Issue] = []
        var lastID = 0
        var door = Door.open
        var rateLimit: Int?
        var quirks: Set<Quirk> = []
        var writes = 0
        var revision = 0
        var answered: [String: Reply] = [:]
        /// Whether it knows `ETag` and `Last-Modified`.
        var hasValidators = true
        var changed: Int64 = 0
        /// How many issues a list says that there are; nil is how many there are.
        var statedTotal: Int?
        /// How many cookies were hoarded.
        var cookies = 0
    }

    let state = Mutex(State())
    private let now: @Sendable () -> Int64

    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    public var issues: [Issue] { state.withLock { $0.issues } }
    /// How many writes took effect.
    public var writes: Int { state.withLock { $0.writes } }

    public var door: Door {
        get { state.withLock { $0.door } }
        set { state.withLock { $0.door = newValue } }
    }

    /// What `X-RateLimit-Limit` says; nil for nothing.
    public var rateLimit: Int? {
        get { state.withLock { $0.rateLimit } }
        set { state.withLock { $0.rateLimit = newValue } }
    }

    public var quirks: Set<Quirk> {
        get { state.withLock { $0.quirks } }
        set { state.withLock { $0.quirks = newValue } }
    }

    public var hasValidators: Bool {
        get { state.withLock { $0.hasValidators } }
        set { state.withLock { $0.hasValidators = newValue } }
    }

    @discardableResult
    public func add(_ title: String, state word: String = "open", priority: Int = 3) -> Int {
        let now = now()
        return state.withLock { $0.add(title, word, priority, at: now) }
    }

    /// Changes an issue; false when there is none.
    @discardableResult
    public func change(_ id: Int, _ body: (inout Issue) -> Void) -> Bool {
        let now = now()
        return state.withLock { state in
            guard let place = state.issues.firstIndex(where: { $0.id == id }) else { return false }
            body(&state.issues[place])
            state.issues[place].updated = now
            state.touch(at: now)
            return true
        }
    }

    public func remove(_ id: Int) {
        let now = now()
        state.withLock { state in
            state.issues.removeAll { $0.id == id }
            state.touch(at: now)
        }
    }

    func answer(_ request: ReceivedRequest, _ faults: Set<Fault> = []) -> Reply {
        let now = now()
        var reply = state.withLock { $0.answer(request, faults, at: now) }
        reply.set("Date", CivilTime.http(now))
        if let limit = rateLimit {
            reply.set("X-RateLimit-Limit", String(limit))
            reply.set("X-RateLimit-Remaining", String(limit - 1))
        }
        return reply
    }
}

extension SimulatedAPI.State {
    mutating func add(_ title: String, _ word: String, _ priority: Int, at now: Int64) -> Int {
        lastID += 1
        issues.append(.init(id: lastID, title: title, state: word, priority: priority, updated: now))
        touch(at: now)
        return lastID
    }

    mutating func touch(at now: Int64) {
        revision += 1
        changed = max(changed, now)
    }
}
