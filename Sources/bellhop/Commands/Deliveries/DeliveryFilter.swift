import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct DeliveryFilter: ParsableArguments {
    private static let states = DeliveryState.allCases.map(\.rawValue)
    private static let reasons = Failure.Reason.allCases.map(\.rawValue)

    @Option(
        help:
            "Only those in this state: available, waiting, running, done, joined, dead, held, shadow, silenced, quiet or dropped. May be given several times.",
        completion: .list(states))
    var state: [String] = []

    @Option(help: "Only those of this rule.")
    var rule: String?

    @Option(help: "Only those to this connection.")
    var receiver: String?

    @Option(parsing: .unconditional, help: "Only those created in this time: 90s, 15m, 7d.")
    var since: String?

    @Option(help: "Only those that failed for this reason, such as refused.", completion: .list(reasons))
    var reason: String?

    @Option(
        name: .customLong("where"),
        help: "Only those for which this condition about `delivery` holds: an expression as in a rule's `when`.")
    var condition: String?

    var isEmpty: Bool {
        state.isEmpty && rule == nil && receiver == nil && since == nil && reason == nil && condition == nil
    }

    func validate() throws {
        try Self.check(state, "state", among: Self.states)
        try Self.check(reason.map { [$0] } ?? [], "reason", among: Self.reasons)
        try DurationText.validate(since, option: "--since")
    }

    private static func check(_ given: [String], _ what: String, among names: [String]) throws {
        for name in given where !names.contains(name) { throw ValidationError(Suggestion.unknown(what, name, among: names)) }
    }

    /// - Throws: if there is no such rule or connection. Call this if nothing was selected: a removed one may still have deliveries.
    func checkNames(_ link: StoreLink) async throws(CommandError) {
        if let rule { try await link.checkRules([rule]) }
        // The connections of an agent on another machine are not known here. An action without a connection, such as `log`, is a receiver.
        let known = link.connections.keys.sorted()
        guard let receiver, !known.isEmpty, !known.contains(receiver), !Catalogue.actions.contains(where: { $0.kind == receiver })
        else { return }
        throw CommandError(.usage, Suggestion.unknown("connection", receiver, among: known))
    }

    /// Compiles the condition of `--where`.
    func checkedCondition(_ config: AgentOptions) async throws(CommandError) -> DeliveryCondition? {
        try await Workspace.condition(condition, config.files, DeliveryCondition.init(_:context:))
    }

    /// The deliveries of a query that match `--where`, if a console evaluates the condition; nil if this command must do it.
    func remoteMatches(
        _ query: DeliveryQuery, _ link: StoreLink, lookingAtMost most: Int
    ) async throws(CommandError) -> SearchPage? {
        guard let console = link.console, let condition else { return nil }
        var parameters: [(String, String)] = [("where", condition)] + query.states.map { ("state", $0.rawValue) }
        for (name, value) in [("rule", rule), ("receiver", receiver), ("since", since), ("reason", reason)] {
            if let value { parameters.append((name, value)) }
        }
        return try await console.search("deliveries", parameters, limit: query.limit, lookingAtMost: most)
    }

    /// - Parameter states: the states to select without `--state`.
    func query(at now: Timestamp, states: [DeliveryState] = [], limit: Int) -> DeliveryQuery {
        DeliveryQuery(
            states: state.isEmpty ? states : state.compactMap(DeliveryState.init(rawValue:)), rule: rule, receiver: receiver,
            since: since.flatMap { try? DurationText.parse($0) }.map { now - $0 },
            reason: reason.flatMap(Failure.Reason.init), limit: limit)
    }
}
