import Synchronization

/// A small issue tracker with a typical JSON API under `/rest/v1`; each way of paging has its own path.
///
/// | path | answer |
/// |---|---|
/// | `GET /list?state=&updated_since=` | an array of all |
/// | `GET /link?page=&per_page=` | an array, the next page in a `Link` field |
/// | `GET /page?page=&per_page=&updated_since=` | `{"items": […], "total": n}` |
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

    public enum Quirk: String, Sendable, Hashable, CaseIterable {
        /// The link to the next page leads to another host.
        case poisonedLink = "poisoned_link"
        /// The link to the next page leads to the page itself.
        case circularLink = "circular_link"
        /// The next cursor is always the same.
        case sameCursor = "same_cursor"
        /// The first page is returned, whichever page is requested.
        case ignoresPaging = "ignores_paging"
        /// The last issue has no id.
        case missingID = "missing_id"
        /// An issue is deleted after each page that is read.
        case shrinking
        /// Pages have at most three issues, however many are requested.
        case capsPages
        /// Pages from the second on are empty, whatever the total is.
        case losesPages
        /// Each answer sets forty cookies of 1.5 KB, with new names each time.
        case hoardsCookies = "hoards_cookies"
        /// A page beyond the last is answered 404.
        case missesPages = "misses_pages"
        /// The first issue claims to have been changed at the end of the year 9999.
        case farFuture
        /// An `Idempotency-Key` is ignored, as on most servers.
        case forgetsKeys
        /// 304 to every request, even without a condition.
        case alwaysUnchanged
        /// Error messages contain the token.
        case echoes
        /// An unknown parameter is ignored, as on most servers, instead of refused.
        case sloppyQueries = "sloppy_queries"
    }

    public enum RequiredCredentials: Sendable, Hashable {
        case open
        /// Requests must have this field with this value.
        case field(String, String)
    }

    struct State: Sendable {
        var issues: [Issue] = []
        var lastID = 0
        var requiredCredentials = RequiredCredentials.open
        var rateLimit: Int?
        var quirks: Set<Quirk> = []
        var writes = 0
        var revision = 0
        var answered: [String: Reply] = [:]
        /// Whether it supports `ETag` and `Last-Modified`.
        var hasValidators = true
        var changed: Int64 = 0
        /// The total that lists report; nil for the true number.
        var statedTotal: Int?
        /// How many of these cookies were set.
        var cookies = 0
    }

    let state = Mutex(State())
    private let now: @Sendable () -> Int64

    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    public var issues: [Issue] { state.withLock { $0.issues } }
    /// How many writes took effect.
    public var writes: Int { state.withLock { $0.writes } }

    public var requiredCredentials: RequiredCredentials {
        get { state.withLock { $0.requiredCredentials } }
        set { state.withLock { $0.requiredCredentials = newValue } }
    }

    /// The value of `X-RateLimit-Limit`; nil for none.
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

    /// Changes an issue; false if it does not exist.
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
