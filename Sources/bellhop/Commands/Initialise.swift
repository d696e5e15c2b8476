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
            let address: HTTPAddress
            do throws(HTTPAddress.Problem) { address = try HTTPAddress(instance) } catch {
                throw ValidationError("--instance: \(error.message)")
            }
            guard address.userInfo == nil, address.target == "/" else {
                throw ValidationError(
                    "--instance must be an address without path, user and password: `bellhop login snow` asks for the login.")
            }
        } else if instance.isEmpty || !instance.utf8.allSatisfy(Self.isHostByte) {
            throw ValidationError(
                "--instance must be an instance's name, such as acme, or its whole address, such as https://acme.example.com.")
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-.:".utf8.contains(byte) }

    func run() async throws {
        if folder != "." { try Files.makeFolder(folder) }
        let isNew = try put(
            "bellhop.yaml", Self.configurationText(instance: instance ?? ConfigurationManifest.placeholder, chat: chat))
        try Files.makeFolder(folder == "." ? "rules" : "\(folder)/rules")
        var hasNewRules = false
        for rule in ShippedRules.all {
            if try put("rules/\(rule.name)", rule.text) { hasNewRules = true }
        }
        if !isNew {
            let needs =
                "The new rules need its connection `ops` and its sources `my-work` and `incidents`: "
                + "`bellhop check` says what is missing."
            Console.note("\nbellhop.yaml was not changed. \(hasNewRules ? needs : "Nothing was written.")")
        }
        Console.note("\nNext:")
        let steps = (folder == "." ? [] : ["cd \(folder.quotedForShell)"]) + steps(isNew: isNew)
        for (index, step) in steps.enumerated() { Console.note("  \(index + 1). \(step)") }
    }

    /// What the user does next. Only a new configuration is known.
    private func steps(isNew: Bool) -> [String] {
        guard isNew else { return ["bellhop check && bellhop test", "bellhop run"] }
        let name = "Write your instance's name into bellhop.yaml, where it says \(ConfigurationManifest.placeholder)."
        return (instance == nil ? [name] : []) + [
            "bellhop login snow            asks for your user name and password, tries them, and stores them"
        ] + StarterReceiver(kind: chat).steps + [
            "bellhop check && bellhop test", "bellhop notify ops            sends a test message", "bellhop run",
        ]
    }

    /// Writes a file; false if there was one.
    private func put(_ name: String, _ text: String) throws(CommandError) -> Bool {
        let path = folder == "." ? name : "\(folder)/\(name)"
        let isNew = try Files.create(path, text)
        Console.data(isNew ? "wrote \(path)" : "kept  \(path), which was there already")
        return isNew
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
            \("instance: \(instance)".padded(to: 28))  # its name (acme.service-now.com) or its whole address
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

extension String {
    /// As one word of a shell's command.
    fileprivate var quotedForShell: String {
        wholeMatch(of: /[A-Za-z0-9_.,:@%+\/-]+/) != nil ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
