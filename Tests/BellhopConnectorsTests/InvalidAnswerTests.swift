import BellhopCore
import BellhopEngine
import BellhopStore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Invalid answers, for each kind of source: a clear error, no event, no lost state, and no lost change once answers are valid
/// again.
@Suite(.closing) struct InvalidAnswerTests {
    enum Kind: String, CaseIterable, Sendable { case tracker, table, instancePage, webPage, rest }

    /// A fault, and the failure that each kind of source reports for it; nil if the kind cannot have it.
    struct InvalidAnswer: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fault: Fault
        var reason: @Sendable (Kind) -> Failure.Reason?
    }

    /// An address on another machine, for the faults below.
    private static let elsewhere = "https://idp.example.com/login"

    static let answers = [
        InvalidAnswer(testDescription: "200 with an error", fault: .transactionCancelled) { kind in
            switch kind {
            case .tracker, .table: .quota
            case .rest: .serverError
            case .instancePage, .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "202 without a body", fault: .accepted) { kind in
            switch kind {
            case .tracker, .table, .instancePage: .dropped
            case .rest, .webPage: .badAnswer
            }
        },
        InvalidAnswer(testDescription: "a page of a gateway", fault: .badGateway) { _ in .gateway },
        InvalidAnswer(testDescription: "a hibernating instance's page", fault: .hibernating) { kind in
            switch kind {
            case .tracker, .table, .instancePage: .hibernating
            case .rest: .unexpectedPage
            case .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "a login page", fault: .loginPage) { kind in
            switch kind {
            case .tracker, .table, .instancePage: .sessionExpired
            case .rest: .unexpectedPage
            case .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "any other page", fault: .status(200, body: "<html><body>Welcome</body></html>")) { kind in
            switch kind {
            case .tracker, .table, .rest: .unexpectedPage
            case .instancePage: .badAnswer  // without the watched element
            case .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "JSON that is cut", fault: .truncatedJSON) { kind in
            switch kind {
            case .tracker, .table, .rest: .badAnswer
            case .instancePage, .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "a connection that is cut", fault: .cutBody) { _ in .cut },
        InvalidAnswer(testDescription: "an empty answer", fault: .status(200, body: "")) { kind in
            kind == .webPage ? nil : .badAnswer
        },
        InvalidAnswer(testDescription: "an answer of another form", fault: .status(200, body: "{\"result\": 3}")) { kind in
            switch kind {
            case .tracker, .table: .unexpectedPage  // its content type is not JSON
            case .rest: .badAnswer
            case .instancePage, .webPage: nil
            }
        },
        InvalidAnswer(testDescription: "a redirect to another host", fault: .redirect(to: elsewhere)) { kind in
            switch kind {
            case .tracker, .table, .instancePage: .loginRequired
            case .webPage, .rest: .refused
            }
        },
        InvalidAnswer(testDescription: "a redirect in a circle", fault: .redirect(to: "")) { kind in
            switch kind {
            case .tracker, .table, .instancePage: .unexpectedPage
            case .webPage, .rest: .badAnswer
            }
        },
    ]

    @Test(arguments: answers, Kind.allCases)
    func `an invalid answer fails the poll with its reason and causes no events`(
        _ answer: InvalidAnswer, _ kind: Kind
    ) async throws {
        guard let reason = answer.reason(kind) else { return }
        let polled = try await PolledSource(kind).open()
        guard case .baseline = try await polled.poll() else { throw Unexpected() }
        let known = try await polled.known()
        polled.change()
        // No request was sent to another place.
        let fault = answer.fault == .redirect(to: "") ? .redirect(to: polled.path) : answer.fault
        polled.practice.simulation.faults.add(fault, path: polled.path, times: nil)
        for _ in 0..<2 {
            guard case .failed(let failure) = try await polled.poll() else {
                Issue.record("the poll succeeded")
                return
            }
            #expect(failure.reason == reason, "\(failure.message)")
            #expect(failure.message.count > 30, "\(failure.message)")
            #expect(!failure.message.contains("correct horse"))
        }
        #expect(try await polled.known() == known)
        #expect(try await polled.events().isEmpty)
        #expect(polled.practice.simulation.requests.all.allSatisfy { $0.path != "/login" })
        polled.practice.simulation.faults.removeAll()
        _ = try await polled.poll()
        #expect(try await polled.events().count == 1)
        _ = try await polled.poll()
        #expect(try await polled.events().count == 1)
    }

    // MARK: Queries that differ from their meaning

    @Test func `an unknown field is an error wherever fields are named, and never lists all rows`() async throws {
        let misspellings: [(Kind, JSON.Object, Failure.Reason)] = [
            (.table, ["query": "actve=true"], .badArguments), (.table, ["where": ["pririty": 1]], .badArguments),
            (.table, ["updated": "sys_updatd_on"], .badArguments), (.table, ["fields": ["pririty"]], .badArguments),
            (.rest, ["path": "page", "items": "itmes"], .badAnswer), (.rest, ["id": "key"], .badAnswer),
            (.instancePage, ["select": "#bord"], .badAnswer), (.webPage, ["select": "#bord"], .badAnswer),
        ]
        for (kind, settings, reason) in misspellings {
            let polled = try await PolledSource(kind).open(settings)
            polled.practice.simulation.faults.add(.sloppyQueries, times: nil)
            polled.practice.simulation.api.quirks = [.sloppyQueries]
            guard case .failed(let failure) = try await polled.poll() else {
                Issue.record("\(kind) accepted \(settings)")
                continue
            }
            #expect(failure.reason == reason, "\(failure.message)")
            #expect(try await polled.known().isEmpty)
            #expect(try await polled.events().isEmpty)
        }
    }

    @Test(arguments: [[:], ["any": []], ["any": [["state": 1], [:]]], ["sort": ["number"]]] as [JSON])
    func `a filter that would match every row is refused`(_ filter: JSON) async throws {
        let practice = Practice()
        let exchange = InProcessExchange(practice.simulation)
        #expect(throws: ConnectorError.self) {
            let settings = Settings(["table": "incident", "where": filter])
            _ = try TableSource(name: "incidents", settings: settings, connection: practice.connection(over: exchange))
        }
    }

    // MARK: Links to other hosts

    @Test(arguments: [Kind.tracker, .table])
    func `links in an instance's answers are neither followed nor shown`(_ kind: Kind) async throws {
        let elsewhere = Simulation(seed: 2) { 0 }
        let address = try await elsewhere.serve()
        let polled = try await PolledSource(kind).open()
        polled.practice.instance.settings.servletURI = address + "/"
        guard case .baseline = try await polled.poll() else { throw Unexpected() }
        polled.change()
        _ = try await polled.poll()
        let events = try await polled.events()
        #expect(events.count == 1)
        #expect(events.allSatisfy { !JSON.object($0.data).encodedText.contains(address) })
        #expect(elsewhere.requests.total == 0)
    }

    @Test func `a link to the next page on another host fails the poll`() async throws {
        let polled = try await PolledSource(.rest).open([
            "path": "link", "paging": ["by": "link", "size": 1, "size_parameter": "per_page"],
        ])
        polled.practice.simulation.api.add("second")
        guard case .baseline = try await polled.poll() else { throw Unexpected() }
        polled.change()
        polled.practice.simulation.api.quirks = [.poisonedLink]
        guard case .failed(let failure) = try await polled.poll() else { throw Unexpected() }
        #expect(failure.message.contains("evil.example"))
        #expect(try await polled.events().isEmpty)
        #expect(try await polled.known().count == 2)
    }
}

private struct Unexpected: Error {}

extension JSON { fileprivate var encodedText: String { String(decoding: encoded(), as: UTF8.self) } }

/// A source of a kind, with its poller and store and a simulated system that has one item.
private final class PolledSource {
    let practice = Practice()
    let kind: InvalidAnswerTests.Kind
    private let store: any Store
    private var poller: Poller?
    private var scope: Scope.ID?
    private var task = ""

    init(_ kind: InvalidAnswerTests.Kind) throws {
        self.kind = kind
        store = try Stores.inMemory()
    }

    var path: String {
        switch kind {
        case .tracker: "/api/x_snc_my_work/v1/tracker/task"
        case .table: "/api/now/v2/table/incident"
        case .instancePage: "/board.do"
        case .webPage: "/rest/v1/list"
        case .rest: "/rest/v1"
        }
    }

    func open(_ settings: JSON.Object = [:]) async throws -> PolledSource {
        task = practice.instance.addTask(title: "Printer", assignedTo: "john.doe").id
        practice.instance.setPage("/board.do", Self.page("Ada"))
        practice.simulation.api.add("Printer")
        let connection = try connection(to: await practice.simulation.serve())
        var values = JSON.Object(self.settings, with: settings)
        if settings["where"] != nil { values["query"] = nil }
        let source = try connection.source("watched", kind: sourceKind, settings: Settings(values))
        guard let source else { throw Unexpected() }
        scope = source.scope.id
        let signals = Signals()
        poller = Poller(
            source, plan: PollPlan(cadence: .every(.seconds(60))),
            in: EngineContext(store: store, clock: practice.clock, signals: signals))
        return self
    }

    private func connection(to address: String) throws -> any Connection {
        switch kind {
        case .tracker, .table, .instancePage: try practice.connection(address)
        case .webPage, .rest:
            try WebConnection(name: "api", settings: Settings(["url": .string(address + "/rest/v1")]), in: practice.environment())
                .untilTestEnds()
        }
    }

    private var sourceKind: String {
        switch kind {
        case .tracker: "tracker"
        case .table: "table"
        case .instancePage, .webPage: "page"
        case .rest: "rest"
        }
    }

    private var settings: JSON.Object {
        switch kind {
        case .tracker: [:]
        case .table: ["table": "incident", "query": "active=true"]
        case .instancePage: ["path": "board.do", "select": "#board"]
        case .webPage: ["path": "list", "ignore": []]
        case .rest: ["path": "list", "id": "id", "title": "title"]
        }
    }

    private static func page(_ name: String) -> String { "<title>Board</title><div id=\"board\">\(name)</div>" }

    /// Makes a change that the next good poll reports as one event.
    func change() {
        practice.instance.updateTask(task, set: ["short_description": "Printer again"])
        practice.instance.setPage("/board.do", Self.page("Grace"))
        practice.simulation.api.change(1) { $0.title = "Printer again" }
    }

    func poll() async throws -> PollOutcome {
        guard var poller else { throw Unexpected() }
        await practice.clock.advance(by: .seconds(60))
        let outcome = try await poller.pollOnce()
        self.poller = poller
        return outcome
    }

    /// The stored tasks.
    func known() async throws -> [Snapshot] {
        guard let scope else { return [] }
        return try await store.tasks(in: [scope])[scope] ?? []
    }

    /// The events about tasks and pages.
    func events() async throws -> [Event] {
        try await store.events(EventQuery(limit: 1000)).map(\.event).filter {
            [.tasks, .page].contains(EventCatalogue.builtIn[$0.type]?.origin)
        }
    }
}
