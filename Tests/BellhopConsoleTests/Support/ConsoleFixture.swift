import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopInbound
import BellhopRules
import BellhopStore
import BellhopTelemetry
import BellhopTesting
import Testing

@testable import BellhopAgent
@testable import BellhopConsole

/// A console over a store in memory, with a user of each role.
struct ConsoleFixture {
    static let tokens: [ConsoleRole: String] = [
        .viewer: "token-of-the-viewer-1", .operator: "token-of-the-operator", .admin: "token-of-the-admin-01",
    ]
    static let rule = """
        rule: acknowledge
        on: task_created
        when: task.title != "nothing"
        do:
          - log:
              text: "New: ${{ task.number }}"
        """

    static let test = """
        tests:
          - name: a new task is acknowledged
            given:
              - task_created: {task: {id: a1, number: INC1, title: Printer}}
            expect:
              - log: {text: "New: INC1"}
        """

    let store: any Store
    let clock = TestClock()
    let eventBell = Bell()
    let feed: LiveFeed
    let desk: ConsoleHandler
    let view: AgentView
    /// The path of the rule's file.
    let path: String
    private let folder: TemporaryFolder?

    /// - Parameters:
    ///   - inFiles: whether the store and the rule are files, so that others read them, too.
    ///   - users: further users, besides one of each role.
    ///   - events: the types of events that the rules know.
    ///   - facts: what only a running agent knows.
    ///   - opening: called before a back-test reads the store.
    init(
        publicURL: String? = nil, reading: AgentReading = .test, provider: OpenIDProvider? = nil,
        openID: ConsoleConfiguration.OpenID? = nil, users: [ConsoleConfiguration.User] = [], inFiles: Bool = false,
        mayEdit: Bool = false, rule: String = Self.rule, events: EventCatalogue = .builtIn,
        facts: JSON.Object = ["version": "test"],
        opening: @escaping @Sendable () throws(StoreError) -> Void = { () throws(StoreError) in }
    ) async throws {
        folder = inFiles ? try TemporaryFolder() : nil
        let place = folder.map { $0.path + "/store" } ?? ""
        store = try inFiles ? Stores.open(place) : Stores.inMemory()
        path = try folder?.write("rules/a.yaml", rule, mode: 0o644) ?? "rules/a.yaml"
        try folder?.write("rules/a.test.yaml", Self.test)
        let file = RuleFile(path: path, bytes: Array(rule.utf8))
        let book = try RuleBook.load([file], context: RuleLoading.openContext(events: events))
        _ = try await store.register(book.registrations(at: clock.now), at: clock.now)
        var configuration = ConsoleConfiguration()
        configuration.place = InboundServer.Address(host: "127.0.0.1", port: 0)
        configuration.publicURL = publicURL
        configuration.openID = openID
        configuration.mayEdit = mayEdit
        configuration.users = Self.tokens.map { .init(name: "the \($0.key.rawValue)", role: $0.key, token: $0.value) }
        configuration.users += users
        let agent = Inquirer.Agent(
            facts: { facts }, wake: {}, book: { book }, events: eventBell, applyKeychainChange: { _, _ in [] })
        let inquirer = Inquirer(store: store, clock: clock, users: configuration.users.map(\.name), agent: agent)
        let bytes: @Sendable (String) -> [UInt8]? = { [folder] path in
            guard path == file.path else { return nil }
            return folder == nil ? file.bytes : RuleFinder.read(path)?.bytes
        }
        let places = RulePlaces([folder.map { $0.path + "/rules" } ?? "rules"], in: folder?.path ?? "")
        let workshop = RuleWorkshop(inquirer, places: places, book: { book }, file: bytes) { () throws(StoreError) in
            try opening()
            return try Stores.openForReading(place)
        }
        view = AgentView(
            inquirer: inquirer, clock: clock, configuration: configuration,
            connections: [("ops", "webhook"), ("tracker", "servicenow")], rates: ["ops": "20/s"],
            book: { book }, file: bytes, eventBell: eventBell,
            telemetry: AgentTelemetry(MetricsRegistry(clock: clock), clock: clock) { reading },
            provider: provider, workshop: workshop)
        feed = LiveFeed(view)
        desk = ConsoleHandler(view, feed, BackTestJobs(view))
    }

    /// Has a source show tasks with these titles.
    ///
    /// - Parameters:
    ///   - numbered: whether the tasks have numbers; those of web pages have none.
    ///   - labels: display values of the fields.
    func show(
        _ titles: [String], numbered: Bool = true, fields: JSON.Object = [:], labels: JSON.Object = [:]
    ) async throws {
        let scope = Scope(instance: "acme", user: "ada", kind: "table", query: "x")
        _ = try await store.open(scope, source: "incidents", at: clock.now)
        let tasks = titles.enumerated().map { place, title in
            let task = Snapshot(
                key: TaskKey("key\(place)"), number: numbered ? "INC\(place)" : "", title: title,
                url: "https://acme.example/\(place)", fields: fields, labels: labels)
            return PollCommit.PresentTask(
                text: SnapshotText(task), listed: .of(title), content: .of(title), generation: 1, refreshed: clock.now)
        }
        _ = try await store.commit(
            PollCommit(scope: scope.id, source: "incidents", expectedTurn: 0, at: clock.now, present: tasks))
    }

    /// Runs back-tests until the test ends.
    func work() {
        let working = Task { await desk.jobs.run() }
        whenTestEnds {
            desk.jobs.stop()
            try await working.joined()
        }
    }

    func ruleText() throws -> String { String(decoding: RuleFinder.read(path)?.bytes ?? [], as: UTF8.self) }
    func ruleMode(_ name: String = "a.yaml") throws -> Int { try folder?.mode("rules/" + name) ?? 0 }

    /// Stores events about new tasks with these titles, and a delivery for each.
    @discardableResult
    func happen(_ titles: String...) async throws -> [Event] { try await happen(titles) }

    /// - Parameter initial: the state of the deliveries.
    func happen(_ titles: [String], from first: Int = 0, initial: Delivery.InitialState = .shadow) async throws -> [Event] {
        var events: [Event] = []
        for (place, title) in titles.enumerated() {
            let number = "INC\(1000 + first + place)"
            let task = Snapshot(
                key: TaskKey("key\(first + place)"), number: number, title: title, url: "https://acme.example/\(number)",
                fields: ["description": .string(title)])
            events.append(
                Event(
                    .taskCreated(task, in: "incidents"), facts: number, source: "incidents",
                    subject: "incidents/key\(first + place)", at: clock.now))
        }
        _ = try await store.append(events)
        let deliveries = zip(events, titles).map { event, title in
            let task = event.task.map { task in
                TaskReference(
                    source: event.source, key: task.key, number: task.number, title: task.title, className: task.className,
                    url: task.url, subject: event.subject)
            }
            return Delivery(
                id: Delivery.ID(occasion: Occasion.event(event.id).id, rule: "acknowledge", step: StepPath("0"), receiver: "ops"),
                revision: "1", action: "notify", arguments: .message(Message(title: [.value(title)], text: [])), task: task,
                lane: "ops", createdAt: clock.now, initial: initial)
        }
        try await store.route(Routing(deliveries: deliveries))
        eventBell.ring()
        return events
    }

    /// The id of the latest delivery; empty if there is none.
    func deliveryID() async -> String { await api("GET", "/deliveries").json["deliveries"]?[0]?["id"]?.asString ?? "" }

    /// Begins a back-test of the rules in force, and returns its id.
    func beginBackTest() async -> String {
        await api("POST", "/backtests", as: .operator, body: [:]).json["id"]?.asString ?? ""
    }

    func addToken(_ name: String, _ role: ConsoleRole = .viewer) async throws -> String {
        let token = ConsoleToken.random()
        _ = try await view.ask(
            .addToken(ConsoleToken(name: name, role: role, hash: ConsoleToken.hash(of: token), created: clock.now)))
        return token
    }

    func status(with token: String, from peer: String = "192.0.2.7") async -> Int {
        await desk.answer(ConsoleRequest("GET", "/api/v1/status", headers: [("Authorization", "Bearer \(token)")], peer: peer))
            .status
    }

    /// Asks the API with a role's token.
    func api(
        _ method: String = "GET", _ target: String, as role: ConsoleRole? = .viewer, body: JSON? = nil,
        headers: [(String, String)] = []
    ) async -> (status: Int, json: JSON, answer: ConsoleAnswer) {
        var fields = headers.map { (name: $0.0, value: $0.1) }
        if let role { fields.append(("Authorization", "Bearer \(Self.tokens[role] ?? "")")) }
        if body != nil { fields.append(("Content-Type", "application/json")) }
        let request = ConsoleRequest(method, "/api/v1" + target, headers: fields, body: body?.encoded() ?? [], peer: "192.0.2.1")
        let answer = await desk.answer(request)
        return (answer.status, (try? JSON.parse(answer.bytes)) ?? .null, answer)
    }

    /// All rows of a list, read page by page from an address with a query; the parameter takes the place of the next page.
    func rows(of list: String, _ target: String, from parameter: String = "before") async -> [JSON] {
        var (rows, place): ([JSON], String?) = ([], nil)
        repeat {
            let page = await api("GET", target + (place.map { "&\(parameter)=" + PercentEncoding.encode($0) } ?? "")).json
            rows += page[list].elements
            place = page["next"]?.asString ?? page["next"]?.asInt.map { String($0) }
        } while place != nil
        return rows
    }

    func logIn(as role: ConsoleRole) async throws -> Browser { try await logIn(with: Self.tokens[role] ?? "") }

    func logIn(with token: String) async throws -> Browser { try await Browser(self, token) }

    /// The answer to the form on the login page, filled in with a token: the viewer's by default.
    func sendLogin(
        with token: String? = nil, next: String? = nil, headers: [(name: String, value: String)] = []
    ) async -> ConsoleAnswer {
        let token = PercentEncoding.encode(token ?? Self.tokens[.viewer] ?? "")
        let fields = "token=\(token)" + (next.map { "&next=\(PercentEncoding.encode($0))" } ?? "")
        return await desk.answer(
            ConsoleRequest(
                "POST", "/login", headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers,
                body: Array(fields.utf8)))
    }

    /// Ends an attempt of the next delivery to `ops`.
    func finishNext(_ next: RetryPolicy.Next, stops: [ReceiverStop] = []) async throws {
        let claimed = try await store.claim(
            limit: 1, quotas: ["ops": ClaimQuota(attempts: 1)], others: 0, by: .only, until: clock.now + .seconds(60),
            at: clock.now)
        let claim = try #require(claimed.claims.first)
        _ = try await store.finish([Finish(claim, at: clock.now, next: next, stops: stops)])
    }
}

/// A browser that keeps its cookie.
struct Browser {
    let fixture: ConsoleFixture
    let cookie: String
    let formToken: String

    init(_ fixture: ConsoleFixture, _ token: String) async throws {
        self.fixture = fixture
        let answer = await fixture.sendLogin(with: token, next: "/rules")
        #expect(answer.status == 303 && answer.field("Location") == "/rules")
        cookie = String(try #require(answer.field("Set-Cookie")).prefix { $0 != ";" })
        let page = await fixture.desk.answer(ConsoleRequest("GET", "/", headers: [("Cookie", cookie)])).text
        let mark = "name=\"form_token\" value=\""
        let start = try #require(page.firstRange(of: mark)).upperBound
        formToken = String(page[start...].prefix { $0 != "\"" })
    }

    func get(_ target: String, language: String = "en") async -> ConsoleAnswer {
        await fixture.desk.answer(ConsoleRequest("GET", target, headers: [("Cookie", cookie), ("Accept-Language", language)]))
    }

    /// Sends the form of the workbench of the fixture's rule.
    func work(_ command: String, _ text: String, tag: String = "x", since: String? = nil) async -> ConsoleAnswer {
        let fields = [("command", command), ("text", text), ("tag", tag)] + (since.map { [("since", $0)] } ?? [])
        return await post("/rules/acknowledge/workbench", fields)
    }

    func post(
        _ target: String, _ fields: [(String, String)] = [], withToken: Bool = true, headers: [(String, String)] = []
    ) async -> ConsoleAnswer {
        var fields = fields
        if withToken { fields.append(("form_token", formToken)) }
        let body = fields.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        return await fixture.desk.answer(
            ConsoleRequest(
                "POST", target,
                headers: [("Cookie", cookie), ("Content-Type", "application/x-www-form-urlencoded")]
                    + headers.map { ($0.0, $0.1) }, body: Array(body.utf8)))
    }
}

extension ConsoleAnswer {
    var bytes: [UInt8] { if case .bytes(let bytes) = body { bytes } else { [] } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The stream; throws the answer if it is not one.
    var stream: any ConsoleStream {
        get throws {
            guard case .stream(let stream) = body else { throw Problem(status, text) }
            return stream
        }
    }
}

extension AgentReading {
    /// Of an agent without rules and sources.
    static var test: AgentReading {
        var reading = AgentReading(now: TestClock().now, started: TestClock().now)
        reading.status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
        return reading
    }
}
