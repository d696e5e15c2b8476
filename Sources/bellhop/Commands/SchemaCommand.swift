import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct SchemaCommand: AsyncParsableCommand {
    enum Part: String, ExpressibleByArgument, CaseIterable { case configuration, rules, tests }

    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print a JSON Schema, for editors that check and complete YAML.",
        discussion: """
            In an editor with a YAML language server, put this above a rule file:
            # yaml-language-server: $schema=rules.schema.json

            The schemas of rules and tests list the types of events that bellhop.yaml declares, if there is one.
            """)

    @OptionGroup var config: ConfigOptions

    @Argument(help: "The kind of file: configuration, rules or tests.")
    var part = Part.rules

    func run() async throws {
        var events = EventCatalogue.builtIn
        if part != .configuration, config.config != "bellhop.yaml" || Files.exist(config.config) {
            events = try await config.load(focus: .shape).events
        }
        let schema =
            switch part {
            case .configuration: ConfigurationSchema.json
            case .rules: RuleSchema.rules(actions: Catalogue.actions, events: events)
            case .tests: RuleSchema.tests(actions: Catalogue.actions, events: events)
            }
        Console.data(schema.text(.pretty))
    }
}
