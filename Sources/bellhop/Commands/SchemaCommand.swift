import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct SchemaCommand: ParsableCommand {
    enum Part: String, ExpressibleByArgument, CaseIterable { case configuration, rules, tests }

    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print a JSON Schema, for editors that check and complete YAML.",
        discussion: """
            In an editor with a YAML language server, put this above a rule file:
            # yaml-language-server: $schema=rules.schema.json
            """)

    @Argument(help: "The kind of file: configuration, rules or tests.")
    var part = Part.rules

    func run() throws {
        let schema =
            switch part {
            case .configuration: ConfigurationSchema.json
            case .rules: RuleSchema.rules(actions: Catalogue.actions)
            case .tests: RuleSchema.tests(actions: Catalogue.actions)
            }
        Console.data(schema.text(.pretty))
    }
}
