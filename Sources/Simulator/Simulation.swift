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
