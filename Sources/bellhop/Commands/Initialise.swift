import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore

struct Initialise: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write a configuration and rules to start from.",
        discussion: "Writes bellhop.yaml and rules/ into a folder. Files that exist are not changed.")

    @Argument(help: "The folder; by default this one.")
    var folder = "."

    @Option(help: "The ServiceNow instance: its name, or its whole address.")
    var instance: String?

    @Option(help: "The kind of chat, pager or other receiver of messages: slack, teams, …")
    var chat = "slack"

    func validate() throws {
        let kinds = StarterReceiver.kinds
        if !kinds.contains(chat) {
            let help = Suggestion.didYouMean(chat, among: kinds) ?? "use \(kinds.joined(separator: ", "))"
            throw ValidationError("--chat: there is no kind `\(chat)`: \(help)")
        }
        guard let instance else { return }
        if instance.contains("://") {
            do throws(HTTPAddress.Problem) { _ = try HTTPAddress(instance) } catch {
                throw ValidationError("--instance: \(error.message)")
            }
        } else if instance.isEmpty || !instance.utf8.allSatisfy(Self.isHostByte) {
            throw ValidationError(
                "--instance must be an instance's name, such as acme, or its whole address, such as https://acme.example.com.")
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || [0x2D, 0x2E, 0x3A].contains(byte)
    }

    func run() async throws {
        if folder != "." { try Files.makeFolder(folder) }
        try put("bellhop.yaml", Self.configurationText(instance: instance ?? ConfigurationManifest.placeholder, chat: chat))
        try Files.makeFolder(folder == "." ? "rules" : "\(folder)/rules")
        for rule in ShippedRules.all { try put("rules/\(rule.name)", rule.text) }
        let steps =
            (instance == nil
                ? ["Write your instance's name into bellhop.yaml, where it says \(ConfigurationManifest.placeholder)."] : []) + [
                "bellhop login snow            asks for your user name and password, tries them, and stores them"
            ] + StarterReceiver(kind: chat).steps + [
                "bellhop check && bellhop test", "bellhop notify ops            sends a test message", "bellhop run",
            ]
        Console.note("\nNext:")
        for (index, step) in steps.enumerated() { Console.note("  \(index + 1). \(step)") }
    }

    private func put(_ name: String, _ text: String) throws(CommandError) {
        let path = folder == "." ? name : "\(folder)/\(name)"
        Console.data(try Files.create(path, text) ? "wrote \(path)" : "kept  \(path), which was there already")
    }

    static func configurationText(instance: String, chat: String = "slack", project: String = ProjectLine.makeID()) -> String {
        """
        # Bellhop's configuration. `bellhop check` says what is wrong with it; relative paths are relative to this file.
        version: 1
        project: \(project)             # the name of this project's logins and secrets in the keychain
        timezone: UTC                     # for schedules and times in messages: Europe/Berlin, America/New_York, …

        connections:
          snow:                           # the tracker
            kind: servicenow
            instance: \(instance)                # its name (acme.service-now.com) or its whole address
            auth: {keychain: true}        # `bellhop login snow` asks for the user name and password and keeps them
          ops:                            # where the rules send their messages: `to: ops`
        \(StarterReceiver(kind: chat).lines.map { "    " + $0 }.joined(separator: "\n"))

        sources:
          my-work:                        # the active tasks assigned to you (the Task Tracker API of the "My Work" update set)
            kind: tracker
            connection: snow
            every: 1m
          incidents:                      # the open P1 incidents of everybody, as far as your account may read them
            kind: table
            connection: snow
            table: incident
            where: {active: true, priority: 1}
            every: 1m

        """
    }
}
