import BellhopCore
import Synchronization

/// A simulated ServiceNow instance: its records, sessions and APIs, without the network.
///
/// A class over a lock, because the server's tasks answer from it while tests, scenarios and the admin endpoint change it. All
/// methods are synchronous; closures passed to them must not call the instance again.
public final class SimulatedInstance: Sendable {
    public struct Counts: Sendable, Hashable {
        /// Sessions opened by a successful login.
        public var logins = 0
        /// 401 answers to wrong credentials.
        public var failedLogins = 0
        /// 401 answers because there were neither credentials nor a session.
        public var loggedOut = 0
        /// Requests to `/oauth_token.do`.
        public var tokenRequests = 0
        /// 401 answers of `/oauth_token.do`.
        public var tokensRefused = 0
        /// Requests that had to wait for their session.
        public var queued = 0
        /// Requests dropped with 202 because too many waited.
        public var dropped = 0
        /// Answers to the Task Tracker's list.
        public var lists = 0
        /// Sessions that have listed tasks: each program that begins to watch has its own.
        public var watchers = 0
        /// Comments written through the Task Tracker API.
        public var trackerComments = 0
    }

    struct State: Sendable {
        var world: World
        var sessions: Sessions
        var tokens: TokenStore
        var settings: InstanceSettings
        var counts = Counts()
        var failuresInARow: [String: Int] = [:]
        var cachedList: CachedList?
        var random: SeededRandom
        /// By path.
        var pages: [String: Page] = [:]
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Int64

    /// - Parameter now: microseconds since 1970 UTC; must not call the instance.
    public init(settings: InstanceSettings = InstanceSettings(), seed: UInt64 = 1, now: @escaping @Sendable () -> Int64) {
        var state = State(
            world: World(seed: seed), sessions: Sessions(seed: seed &+ 1),
            tokens: TokenStore(seed: seed &+ 4), settings: settings,
            random: SeededRandom(seed: seed &+ 2))
        state.world.labels = settings.labels
        self.state = Mutex(state)
        self.now = now
    }

    /// The instance's time, microseconds since 1970 UTC.
    public var time: Int64 { now() }

    func read<Value>(_ look: (State) -> Value) -> Value { state.withLock { look($0) } }

    func change<Value>(_ body: (inout State, Int64) -> Value) -> Value {
        let now = now()
        return state.withLock { body(&$0, now) }
    }

    public var counts: Counts { read(\.counts) }
    /// Increases with every change of a record.
    public var revision: Int { read(\.world.revision) }

    public var settings: InstanceSettings {
        get { read(\.settings) }
        set {
            change { state, _ in
                state.settings = newValue
                state.world.labels = newValue.labels
            }
        }
    }
}

/// Pages for people: shown with a session, otherwise redirected to the login page, never 401.
extension SimulatedInstance {
    struct Page: Sendable, Hashable {
        var html: String
        /// The address to redirect to; nil for none.
        var redirect: String?
    }

    /// Sets a page at a path, such as `/kb_view.do`; nil removes it.
    public func setPage(_ path: String, _ html: String?) {
        change { state, _ in state.pages[path] = html.map { Page(html: $0) } }
    }

    public func hasPage(_ path: String) -> Bool { change { state, _ in state.pages[path] != nil } }

    public func setRedirect(_ path: String, to address: String) {
        change { state, _ in state.pages[path] = Page(html: "", redirect: address) }
    }
}

extension SimulatedInstance.State {
    /// Nil for paths that are not pages.
    func page(_ request: ReceivedRequest) -> Reply? {
        if request.path == "/login.do" { return .html(200, FaultPages.login) }
        guard let page = pages[request.path] else { return nil }
        if let redirect = page.redirect { return Reply(302).with("Location", redirect) }
        let reply = Reply.html(200, page.html)
        return (request.header("If-None-Match") == reply.tag ? Reply(304) : reply).with("ETag", reply.tag)
    }

    /// Whether people open this path in a browser.
    func isPage(_ request: ReceivedRequest) -> Bool {
        guard request.method == "GET", request.path != "/oauth_auth.do" else { return false }
        return pages[request.path] != nil || request.path.hasSuffix(".do")
    }
}
