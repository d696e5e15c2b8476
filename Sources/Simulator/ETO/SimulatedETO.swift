import BellhopCore
import Synchronization

/// Simulates ETO's web services: accounts, enterprises, sites, programs, and the responses to TouchPoints.
///
/// A class over a lock, because the server's tasks answer from it while tests change it. All methods are synchronous.
public final class SimulatedETO: Sendable {
    public struct Program: Sendable, Hashable {
        public var id: Int
        public var name: String
        public var isDisabled: Bool

        public init(_ id: Int, _ name: String, isDisabled: Bool = false) {
            (self.id, self.name, self.isDisabled) = (id, name, isDisabled)
        }
    }

    public struct Site: Sendable, Hashable {
        public var id: Int
        public var name: String
        public var programs: [Program]

        public init(_ id: Int, _ name: String, programs: [Program] = []) {
            (self.id, self.name, self.programs) = (id, name, programs)
        }
    }

    public struct Enterprise: Sendable, Hashable {
        public var guid: String
        public var name: String
        public var sites: [Site]

        public init(_ guid: String, _ name: String, sites: [Site]) { (self.guid, self.name, self.sites) = (guid, name, sites) }
    }

    /// A form filled in for a subject.
    public struct Response: Sendable, Hashable {
        public var id: Int
        public var touchPoint: Int
        public var subject: Int
        public var program: Int?
        /// Milliseconds since 1970 UTC.
        public var created: Int64
        /// The elements' values, as JSON texts, by number and in order: as entered, or an object as the services send it.
        public var elements: [(id: Int, json: String)]

        public static func == (left: Response, right: Response) -> Bool {
            left.id == right.id && left.touchPoint == right.touchPoint && left.subject == right.subject
                && left.program == right.program
                && left.created == right.created && left.elements.elementsEqual(right.elements, by: ==)
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }

    /// How the simulated services differ from what one expects, as the real services may do.
    public struct Behavior: Sendable, Hashable {
        /// The answer to a request of a dead session: 500, 401, 400 or 200 with `Detail`.
        public var deadSession = 500
        /// Whether an empty list is an empty body instead of `[]`.
        public var sendsEmptyBody = false
        /// Whether lists include the answers; otherwise only a single response does.
        public var listsElements = true
        /// Whether written values are stored in upper case.
        public var rewritesValues = false

        public init() {}
    }

    public struct Counts: Sendable, Hashable {
        public var logins = 0
        public var failedLogins = 0
        public var siteLogins = 0
        public var programChanges = 0
        public var added = 0
    }

    struct Session: Sendable {
        var account: String
        var enterprise: String
        var site: Int
        var program: Int?
    }

    struct State: Sendable {
        var accounts: [String: String] = [:]
        var enterprises: [Enterprise] = []
        /// The forms, by number.
        var touchPoints: [Int: String] = [:]
        var responses: [Response] = []
        var lastResponse = 5000
        var behavior = Behavior()
        var counts = Counts()
        /// Accounts by the SSO token of the first login step.
        var ssoAccounts: [String: String] = [:]
        var sessions: [String: Session] = [:]
        var random: SeededRandom

        mutating func setProgram(_ program: Int, of account: String) {
            for token in Array(sessions.keys) where sessions[token]?.account == account { sessions[token]?.program = program }
        }

        mutating func guid() -> String {
            let digits = Array(random.hex(32))
            let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
            return groups.map { String(digits[$0]) }.joined(separator: "-")
        }
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Int64

    init(seed: UInt64, now: @escaping @Sendable () -> Int64) {
        state = Mutex(State(random: SeededRandom(seed: seed)))
        self.now = now
    }

    func change<Value>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    public func addAccount(_ email: String, password: String) { change { $0.accounts[email] = password } }
    public func addTouchPoint(_ id: Int, _ name: String) { change { $0.touchPoints[id] = name } }
    public func addEnterprise(_ enterprise: Enterprise) { change { $0.enterprises.append(enterprise) } }

    public var behavior: Behavior {
        get { change { $0.behavior } }
        set { change { $0.behavior = newValue } }
    }

    public var counts: Counts { change { $0.counts } }
    public var responses: [Response] { change { $0.responses } }

    /// Adds a response as a person would; `elements` are JSON values by element number.
    @discardableResult
    public func addResponse(touchPoint: Int, subject: Int, program: Int? = nil, elements: [(id: Int, json: String)]) -> Response {
        let created = now() / 1000
        return change { state in
            state.lastResponse += 1
            let response = Response(
                id: state.lastResponse, touchPoint: touchPoint, subject: subject, program: program, created: created,
                elements: elements)
            state.responses.append(response)
            return response
        }
    }

    public func changeResponse(_ id: Int, _ edit: (inout Response) -> Void) {
        change { state in
            if let place = state.responses.firstIndex(where: { $0.id == id }) { edit(&state.responses[place]) }
        }
    }

    public func deleteResponse(_ id: Int) { change { $0.responses.removeAll { $0.id == id } } }

    /// The account logs in to the web pages, which ends its sessions with the services.
    public func logInToWebPages(_ email: String) { endSessions(of: email) }

    /// The account chooses another program in another login: that is its current program in all its sessions.
    public func changeProgram(of email: String, to program: Int) { change { $0.setProgram(program, of: email) } }

    /// Ends an account's sessions, or all.
    func endSessions(of email: String?) {
        change { state in state.sessions = state.sessions.filter { email != nil && $0.value.account != email } }
    }

    static let zeros = "00000000-0000-0000-0000-000000000000"

    /// Whether a text is of the form `8-4-4-4-12` hexadecimal digits.
    static func isGUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.allSatisfy(\.isHexDigit) }
    }

    /// Every token that is still valid, and the enterprises' GUIDs. Tests check that they are not visible anywhere.
    public var secrets: [String] {
        change { state in
            Array(state.ssoAccounts.keys) + Array(state.sessions.keys) + state.enterprises.map(\.guid)
        }
    }
}
