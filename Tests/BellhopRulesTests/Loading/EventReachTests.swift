import BellhopCore
import Testing

@testable import BellhopRules

/// Which events a configuration can produce.
@Suite struct EventReachTests {
    private static func source(
        _ name: String, _ kind: String = "tracker", shows: RecordKind = .tasks,
        comments: Ability = .setting("journal", values: ["comments"], line: "journal: [comments]")
    ) -> RuleContext.SourceFacts {
        .init(
            name: name, kind: kind, connection: "snow", schema: Fixture.schema, scope: Fixture.scope, user: "john.doe",
            shows: shows, comments: comments)
    }

    /// A type that bellhop.yaml declares.
    private static let outage = EventType("outage")

    private static func code(
        _ type: EventType, among types: [EventType]? = nil, from: [String] = [],
        sources: [RuleContext.SourceFacts] = [source("my-work")], logins: [String: EventType?] = [:], isOpen: Bool = false
    ) -> String? {
        let context = RuleContext(
            sources: sources,
            connections: logins.sorted { $0.key < $1.key }.map {
                .init(name: $0.key, kind: "servicenow", actions: [], logins: $0.value)
            },
            actions: [], timeZone: .utc, timeZoneName: "UTC", zone: { _ in nil }, assumed: isOpen ? Fixture.assumed : nil,
            events: EventCatalogue(EventCatalogue.builtIn.definitions + [EventDefinition(outage, "", from: .outside, [])]))
        return EventReach(context, from: from).obstacle(to: type, among: types ?? [type])?.code
    }

    @Test func `a login's event type follows the type of its credentials, and a rule may name both types`() {
        #expect(Self.code(.loginEvent, logins: ["snow": .keychainLoginEvent]) == "wrong-login-event")
        #expect(Self.code(.keychainLoginEvent, logins: ["snow": .loginEvent]) == "wrong-login-event")
        #expect(Self.code(.loginEvent, logins: ["snow": .loginEvent]) == nil)
        let both: [EventType] = [.loginEvent, .keychainLoginEvent]
        for type in both { #expect(Self.code(type, among: both, logins: ["snow": .loginEvent]) == nil) }
        #expect(Self.code(.loginEvent, logins: ["snow": .keychainLoginEvent, "other": .loginEvent]) == nil)
        #expect(
            Self.code(.loginEvent, from: ["snow"], logins: ["snow": .keychainLoginEvent, "other": .loginEvent])
                == "wrong-login-event")
    }

    @Test func `a connection without logins causes no session events`() {
        for type in [EventType.loginEvent, .keychainLoginEvent, .sessionExpired] {
            #expect(Self.code(type, logins: ["ops": nil]) == "no-login-events")
            #expect(Self.code(type, from: ["my-work"], logins: ["snow": .loginEvent]) == "no-login-events")
        }
        #expect(Self.code(.sessionExpired, logins: ["snow": .keychainLoginEvent]) == nil)
    }

    @Test func `comments come from sources that report them, tasks from sources other than pages, and pages from pages`() {
        let plain = Self.source("plain"), watching = Self.source("watching", comments: .yes)
        let page = Self.source("page", "page", shows: .page)
        #expect(Self.code(.taskCommented, sources: [plain]) == "no-comments")
        #expect(Self.code(.taskCommented, sources: [plain, watching]) == nil)
        #expect(Self.code(.taskCommented, from: ["plain"], sources: [plain, watching]) == "no-comments")
        for type in [EventType.taskCreated, .taskReturned, .taskChanged, .taskRemoved, .taskCommented] {
            #expect(Self.code(type, from: ["page"], sources: [plain, page]) == "no-tasks")
        }
        #expect(Self.code(.taskCreated, sources: [plain, page]) == nil)
        #expect(Self.code(.pageChanged, sources: [plain]) == "no-page")
        #expect(Self.code(.pageChanged, from: ["plain"], sources: [plain, page]) == "no-page")
        #expect(Self.code(.pageChanged, sources: [plain, page]) == nil)
        #expect(Self.code(.taskCreated, from: ["snow"], sources: [plain], logins: ["snow": .loginEvent]) == "no-source")
    }

    @Test func `a declared event comes from a source that is sent events, and from rules, which no from can name`() {
        let tasks = Self.source("my-work"), sent = Self.source("alerts", "webhook", shows: .events)
        #expect(Self.code(Self.outage, sources: [tasks]) == nil)
        #expect(Self.code(Self.outage, from: ["my-work"], sources: [tasks, sent]) == "no-sender")
        #expect(Self.code(Self.outage, from: ["my-work", "alerts"], sources: [tasks, sent]) == nil)
    }

    @Test func `rules are not refused without a configuration or for events that can always come`() {
        #expect(Self.code(.loginEvent, logins: ["ops": nil], isOpen: true) == nil)
        for type in [EventType.scheduleDue, .sourceFailing, .sourceRecovered, .sourceHeld, .deliveryDead] {
            #expect(Self.code(type, logins: ["ops": nil]) == nil)
        }
    }
}
