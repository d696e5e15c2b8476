public import BellhopConnectors
public import BellhopCore
public import BellhopEngine
public import BellhopRules

/// The part of a running agent that the console uses. The console sees neither the store nor the engine.
public struct AgentView: Sendable {
    /// Answers inquiries and carries out people's commands.
    public let inquirer: Inquirer
    public let clock: any AgentClock
    public let configuration: ConsoleConfiguration
    /// The zone of bellhop.yaml, for a browser that names none.
    public let zone: TimeZoneTable
    public let connections: [(name: String, kind: String)]
    /// The rate of requests to each connection, from bellhop.yaml or its kind, such as `20/s`.
    public let rates: [String: String]
    /// The rules in force; nil before the first rules are loaded.
    public let book: @Sendable () -> RuleBook?
    /// The bytes of a rule file by the path that a rule's summary gives.
    public let file: @Sendable (String) -> [UInt8]?
    /// Rings when there may be new events.
    public let eventBell: Bell
    public let telemetry: AgentTelemetry?
    /// Where people log in with their accounts; nil if only tokens are taken.
    public let provider: OpenIDProvider?
    /// For trying rules; nil if that is not possible.
    public let workshop: RuleWorkshop?

    public init(
        inquirer: Inquirer, clock: any AgentClock, configuration: ConsoleConfiguration, zone: TimeZoneTable = .utc,
        connections: [(name: String, kind: String)] = [], rates: [String: String] = [:],
        book: @escaping @Sendable () -> RuleBook? = { nil },
        file: @escaping @Sendable (String) -> [UInt8]? = { _ in nil }, eventBell: Bell = Bell(),
        telemetry: AgentTelemetry? = nil, provider: OpenIDProvider? = nil, workshop: RuleWorkshop? = nil
    ) {
        self.inquirer = inquirer
        self.clock = clock
        self.configuration = configuration
        self.zone = zone
        self.connections = connections
        self.rates = rates
        self.book = book
        self.file = file
        self.eventBell = eventBell
        self.telemetry = telemetry
        self.provider = provider
        self.workshop = workshop
    }

    /// All rows and the end of an answer. Only for answers that fit in memory.
    public func ask(_ inquiry: Inquiry) async throws(InquiryError) -> (rows: [JSON], end: JSON) {
        var answer = inquirer.answer(inquiry)
        var rows: [JSON] = []
        while true {
            switch try await answer.next() {
            case .rows(let more): rows += more
            case .end(let end): return (rows, end)
            }
        }
    }
}
