/// All simulated systems: a ServiceNow instance, ETO's services, a Mobile Foundation runtime, receivers, the faults between them
/// and the network, and the log of requests.
///
/// A value of references: copies share one world. ``SimulatorServer`` puts it on the network.
public struct Simulation: Sendable {
    public let instance: SimulatedInstance
    /// Under `/API`.
    public let eto: SimulatedETO
    /// Under `/mfp`.
    public let mobileFoundation: SimulatedMobileFoundation
    public let receivers: Receivers
    /// Under `/discord`, `/mattermost`, `/googlechat`, `/telegram`, `/teams` and `/slack`.
    public let chats: SimulatedChats
    /// Under `/pagerduty`, `/opsgenie`, `/ntfy` and `/matrix`.
    public let services: SimulatedServices
    /// A mail server, put on the network by ``MailServer``.
    public let mail: SimulatedMail
    /// A JSON API under `/rest`.
    public let api: SimulatedAPI
    /// An OpenID provider under `/openid`.
    public let openID: SimulatedOpenID
    /// An OpenTelemetry receiver under `/otlp`.
    public let telemetry = SimulatedTelemetry()
    public let faults: FaultPlan
    /// Every request except those of the admin endpoint.
    public let requests: RequestLog
    /// The simulation's clock: microseconds since 1970 UTC.
    public let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - seed: determines identifiers, cookies and random faults.
    ///   - now: microseconds since 1970 UTC; tests and demonstrations provide their own clock.
    public init(settings: InstanceSettings = InstanceSettings(), seed: UInt64 = 1, now: @escaping @Sendable () -> Int64) {
        instance = SimulatedInstance(settings: settings, seed: seed, now: now)
        eto = SimulatedETO(seed: seed &+ 4, now: now)
        mobileFoundation = SimulatedMobileFoundation(seed: seed &+ 5, now: now)
        receivers = Receivers()
        chats = SimulatedChats()
        services = SimulatedServices()
        mail = SimulatedMail(now: now)
        api = SimulatedAPI(now: now)
        openID = SimulatedOpenID(now: now)
        faults = FaultPlan(seed: seed &+ 3)
        requests = RequestLog()
        self.now = now
    }
}

extension Simulation {
    /// Fills ETO's services, the Mobile Foundation runtime and the JSON API with data: an account at ETO with two enterprises, a
    /// client with two adapters, and a few issues.
    ///
    /// - Parameters:
    ///   - account: the e-mail address of the account at ETO.
    ///   - password: its password.
    ///   - secret: the secret of the client `bellhop` of Mobile Foundation.
    public func addOtherSystems(account: String, password: String, secret: String) {
        eto.addAccount(account, password: password)
        eto.addEnterprise(
            .init(
                "9f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0", "Shelter Network",
                sites: [.init(77, "North", programs: [.init(1, "Intake"), .init(2, "Housing")]), .init(78, "South")]))
        eto.addEnterprise(.init("1f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f1", "Other House", sites: [.init(5, "Only")]))
        eto.addTouchPoint(14, "Visit")
        eto.addResponse(touchPoint: 14, subject: 501, program: 1, elements: [(1006, #""first visit""#)])
        mobileFoundation.addClient("bellhop", secret: secret, scopes: ["orders"])
        mobileFoundation.addAdapter(
            "orders",
            .init(scopes: ["orders"]) { _ in
                .init(body: #"[{"id": 1, "title": "Beds", "state": "open"}, {"id": 2, "title": "Blankets", "state": "sent"}]"#)
            })
        mobileFoundation.addAdapter(
            "Feed",
            .init(isJavaScript: true) { _ in .init(body: #"{"isSuccessful": true, "items": [{"id": "a", "title": "News"}]}"#) })
        for title in ["Door stuck", "Lamp broken"] { api.add(title) }
    }
}

extension Simulation {
    /// What has happened in a scenario while it is played, or what comes next.
    public enum PlayReport: Sendable, Hashable {
        /// A client has begun to watch the instance's tasks.
        case watched
        case happened(ScenarioEvent)
        /// The next event, in this many microseconds of the simulation's clock.
        case comes(ScenarioEvent, in: Int64)
    }

    /// Plays a scenario by the simulation's clock, until it ends or the task is cancelled.
    ///
    /// - Parameters:
    ///   - pause: real time between two looks at the clock.
    ///   - report: called for each event, and for the next one whenever it changes.
    ///   - isReady: whether the next events may happen when their time has come; by default, always.
    public func play(
        _ scenario: Scenario, pause: Duration = .milliseconds(50), report: (PlayReport) -> Void = { _ in },
        isReady: () -> Bool = { true }
    ) async throws {
        var scenario = scenario
        var watchers = instance.counts.watchers
        var coming: Scenario.Due?
        while let next = scenario.next {
            let now = now()
            if next != coming {
                report(.comes(next.event, in: max(next.time - now, 0)))
                coming = next
            }
            while let due = scenario.nextTime, due <= now, isReady() {
                for event in scenario.tick(to: due) {
                    instance.apply(event)
                    report(.happened(event))
                }
            }
            let current = instance.counts.watchers
            if current > watchers {
                watchers = current
                scenario.addWatcherEvents(at: now)
                report(.watched)
            }
            try await Task.sleep(for: pause)
        }
    }
}
