import BellhopAgent
import BellhopConnectors
import BellhopCore

/// What commands that look at rules have around them: a configuration with its connectors, or nothing.
struct Workplace {
    var rulePaths: [String]
    var hasDefaultRules: Bool
    var surroundings: RuleSurroundings

    /// - Parameter mayLackConfiguration: true when rules can be looked at without bellhop.yaml.
    static func open(_ config: ConfigOptions, mayLackConfiguration: Bool) async throws(Trouble) -> Workplace {
        if mayLackConfiguration, config.config == "bellhop.yaml", !Files.exist(config.config) {
            return Workplace(rulePaths: ["rules"], hasDefaultRules: true, surroundings: RuleLoading.openSurroundings())
        }
        let configuration = try await config.load()
        let connectors: Connectors
        do throws(AssemblyError) {
            connectors = try await Assembly.connectors(
                configuration, keychain: config.keychain, clock: SystemClock(), events: Deaf(), notebook: Deaf(), output: { _ in })
        } catch {
            throw Trouble(error)
        }
        let surroundings = RuleLoading.surroundings(configuration, sources: connectors.sources)
        await connectors.shutdown()
        return Workplace(
            rulePaths: configuration.rules, hasDefaultRules: configuration.rules == [configuration.folder + "rules"],
            surroundings: surroundings)
    }
}

/// Takes events and notes and keeps none: for commands that ask nobody.
struct Deaf: EventSink, Notebook {
    func emit(_ events: [Event]) async {}
    func note(_ key: String) async throws -> JSON? { nil }
    func setNote(_ key: String, to value: JSON?) async throws {}
}
