public import BellhopConnectors
import BellhopCore
public import BellhopRules

/// Everything that `bellhop doctor` examines: this machine, and each connection with what the sources and rules need from it.
public struct Examination: Sendable {
    /// Findings that belong together.
    public struct Section: Sendable, Hashable {
        /// A connection's name, or `this machine`.
        public var name: String
        /// The connection's kind, such as `servicenow`, or the configuration file of this machine.
        public var what: String
        public var findings: [Finding]
    }

    /// The overall result, worst first.
    public enum Outcome: Sendable, Hashable, CaseIterable {
        case badConfiguration, loginRefused, unreachable, cannotCreate, problem, fine
    }

    public var sections: [Section]

    public var outcome: Outcome {
        let outcomes = sections.flatMap(\.findings).filter { $0.state == .missing }.map { Self.outcome($0.reason) }
        return Outcome.allCases.first(where: outcomes.contains) ?? .fine
    }

    private static func outcome(_ reason: Failure.Reason?) -> Outcome {
        switch reason {
        case .badArguments, .missingReceiver, .unrenderable: .badConfiguration
        case .unauthenticated, .mfaRequired, .loginRequired: .loginRefused
        case .unreachable, .timeout, .tls, .cut, .hibernating, .gateway, .serverError, .throttled, .dropped, .quota: .unreachable
        case .fileSystem: .cannotCreate
        case .forbidden, .sessionExpired, .csrf, .unexpectedPage, .apiMissing, .goneOrHidden, .badAnswer, .tooLarge, .refused,
            .notWritten, .movedOn, .expired, .budget, .quiet, .stopped, .interrupted, nil:
            .problem
        }
    }

    /// Examines everything; the connections concurrently.
    /// - Parameters:
    ///   - withoutLogin: connections without a stored login; no request is sent to them.
    ///   - rules: the loaded rules; empty if they cannot be loaded.
    public init(
        _ configuration: Configuration, connectors: Connectors, rules: [RuleSummary], local: [Finding], withoutLogin: [String]
    ) async {
        var sections = [Section(name: "this machine", what: configuration.file, findings: local)]
        let needs = configuration.connections.map { Self.needs(of: $0.name, configuration, connectors, rules) }
        let found = await withTaskGroup(of: (Int, [Finding]).self) { group in
            for (place, entry) in configuration.connections.enumerated() {
                if withoutLogin.contains(entry.name) { continue }
                let (name, need) = (entry.name, needs[place])
                group.addTask { (place, await connectors.examine(connection: name, need)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (place, entry) in configuration.connections.enumerated() {
            let noLogin = Finding(
                "login", .missing, "it is not stored yet", remedy: "run `bellhop login \(entry.name)`", reason: .unauthenticated)
            sections.append(Section(name: entry.name, what: entry.kind, findings: found[place] ?? [noLogin]))
        }
        self.sections = sections
    }

    /// The access that sources and rules need to a connection.
    static func needs(
        of connection: String, _ configuration: Configuration, _ connectors: Connectors, _ rules: [RuleSummary]
    ) -> ConnectionNeeds {
        let sources = configuration.sources.filter { $0.connection == connection }.compactMap { entry in
            connectors.sources.first { $0.name == entry.name }.map {
                ConnectionNeeds.SourceNeed(name: entry.name, kind: entry.kind, settings: entry.settings, schema: $0.schema)
            }
        }
        let actions = rules.flatMap { rule in
            rule.uses.filter { $0.connections.contains(connection) }.map {
                ConnectionNeeds.ActionNeed(rule: rule.name, action: $0.action, fields: $0.fields, constants: $0.constants)
            }
        }
        return ConnectionNeeds(sources: sources, actions: actions)
    }
}
