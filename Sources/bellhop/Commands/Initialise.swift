import ArgumentParser
import BellhopCore

struct Initialise: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write a configuration and rules to start from.",
        discussion: "Writes bellhop.yaml and rules/ into a folder. What is there already stays as it is.")

    @Argument(help: "The folder; by default this one.")
    var folder = "."

    @Option(help: "The ServiceNow instance: its name, or its whole address.")
    var instance = "acme"

    func run() async throws {
        if folder != "." { try Files.makeFolder(folder) }
        try put("bellhop.yaml", Self.configurationText(instance: instance))
        try Files.makeFolder(folder == "." ? "rules" : "\(folder)/rules")
        for rule in ShippedRules.all { try put("rules/\(rule.name)", rule.text) }
        Console.note(
            """

            Next:
              1. Put your instance's name into bellhop.yaml (now: \(instance)).
              2. bellhop login snow            asks for your user name and password, tries them, and stores them
              3. bellhop secret set ops_url    the address your chat gave you for incoming messages
              4. bellhop check && bellhop test
              5. bellhop run
            """)
    }

    private func put(_ name: String, _ text: String) throws(Trouble) {
        let path = folder == "." ? name : "\(folder)/\(name)"
        Console.data(try Files.create(path, text) ? "wrote \(path)" : "kept  \(path), which was there already")
    }

    static func configurationText(instance: String) -> String {
        """
        # Bellhop's configuration. `bellhop check` says what is wrong with it; relative paths are relative to this file.
        version: 1
        timezone: UTC                     # for schedules and times in messages: Europe/Berlin, America/New_York, …

        connections:
          snow:                           # the tracker
            kind: servicenow
            instance: \(instance)                # its name (acme.service-now.com) or its whole address
            auth: {keychain: true}        # `bellhop login snow` asks for the user name and password and keeps them
          ops:                            # a chat channel: the address of a Slack incoming webhook
            kind: slack
            url: "${{ secret.ops_url }}"  # `bellhop secret set ops_url` keeps it

        sources:
          my-work:                        # the active tasks assigned to you (the Task Tracker API of the "My Work" update set)
            kind: tracker
            connection: snow
            every: 1m

        """
    }
}
