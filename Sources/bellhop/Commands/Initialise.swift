import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct Initialise: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write a configuration and rules to start from.",
        discussion: "Writes bellhop.yaml and rules/ into a folder. Files that exist are not changed.")

    @Argument(help: "The folder; by default this one.", completion: .directory)
    var folder = "."

    @Option(help: "The kind of system to watch; `http` is any JSON API.")
    var system = StarterSystem.Kind.servicenow

    @Option(
        name: [.customLong("instance"), .customLong("address")],
        help: "The system's address; that of ServiceNow may be the instance's name alone.")
    var address: String?

    @Option(
        help: "The kind of chat, pager or other receiver of messages: slack, teams, …", completion: .list(StarterEntry.receivers))
    var chat = "slack"

    func validate() throws {
        let kinds = StarterEntry.receivers
        if !kinds.contains(chat) {
            let help = Suggestion.didYouMean(chat, among: kinds) ?? "use \(kinds.joined(separator: ", "))"
            throw ValidationError("--chat: there is no kind `\(chat)`: \(help)")
        }
        guard let address else { return }
        let option = system == .servicenow ? "--instance" : "--address"
        if address.contains("://") {
            let parts: HTTPAddress
            do throws(InvalidValue) { parts = try HTTPAddress(address) } catch {
                throw ValidationError("\(option): \(error.message)")
            }
            // In YAML, they would end the address, or make it a key.
            if address.last == ":" || address.contains(where: { $0 == "#" || $0.isWhitespace }) {
                throw ValidationError("\(option) must be an address without blanks, without `#`, and without `:` at its end.")
            }
            guard parts.userInfo == nil, system == .http ? !parts.target.contains("?") : parts.target == "/" else {
                throw ValidationError(
                    system == .http
                        ? "--address must be an address without query, user and password."
                        : "\(option) must be an address without path, user and password: `bellhop login` asks for the login.")
            }
        } else if system != .servicenow {
            throw ValidationError("--address must be a whole address, such as https://api.example.com.")
        } else if address.wholeMatch(of: /[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?/) == nil {
            throw ValidationError(
                "--instance must be an instance's name, such as acme, or its whole address, such as https://acme.example.com.")
        }
    }

    func run() async throws {
        if folder != "." { try Files.makeFolder(folder) }
        let isNew = try put("bellhop.yaml", configurationText)
        try Files.makeFolder(folder == "." ? "rules" : "\(folder)/rules")
        let rules = ShippedRules.all.filter(system.fits)
        let refusals = try await isNew ? [:] : refusals(of: rules)
        var hasNewRules = false
        for rule in rules where refusals[rule.ruleName] == nil {
            if try put("rules/\(rule.name)", rule.text) { hasNewRules = true }
        }
        if !isNew { Console.note("\nbellhop.yaml was not changed.\(hasNewRules ? "" : " Nothing was written.")") }
        for (name, reason) in refusals.sorted(by: { $0.key < $1.key }) {
            Console.note("\(path("rules/\(name)")) does not fit bellhop.yaml, and was not written: \(reason).")
        }
        Console.note("\nNext:")
        let steps = (folder == "." ? [] : [StarterStep("cd \(folder.quotedForShell)")]) + steps(isNew: isNew)
        for line in StarterStep.lines(steps) { Console.note(line) }
    }

    /// The rules that do not fit the bellhop.yaml that was there, each with the reason.
    private func refusals(of rules: [ShippedRules.File]) async throws -> [String: String] {
        let config = try ConfigOptions.parse(["--config=\(path("bellhop.yaml"))"])
        let context = try await Workspace.open(config, mayLackConfiguration: false, focus: .shape).context
        var refusals: [String: String] = [:]
        for rule in rules where !rule.isTest {
            do throws(Diagnostics) {
                _ = try RuleBook.load([RuleFile(path: rule.name, bytes: Array(rule.text.utf8))], context: context)
            } catch {
                refusals[rule.name] = error.all.first { $0.severity == .error }?.message
            }
        }
        return refusals
    }

    private func path(_ name: String) -> String { folder == "." ? name : "\(folder)/\(name)" }

    /// What the user does next. Only a new configuration is known.
    private func steps(isNew: Bool) -> [StarterStep] {
        guard isNew else { return [StarterStep("bellhop check && bellhop test"), StarterStep("bellhop run")] }
        return StarterSystem(system, at: address).steps + receiver.steps
            + (system == .servicenow ? [] : [StarterStep("bellhop query my-work", to: "shows the first tasks")]) + [
                StarterStep("bellhop check && bellhop test"), StarterStep("bellhop notify ops", to: "sends a test message"),
                StarterStep("bellhop run"),
            ]
    }

    /// The connection to which the rules send their messages.
    private var receiver: StarterEntry { StarterEntry(connection: "ops", kind: chat) }

    /// Writes a file; false if there was one.
    private func put(_ name: String, _ text: String) throws(CommandError) -> Bool {
        let path = path(name)
        let isNew = try Files.create(path, text)
        Console.data(isNew ? "wrote \(path)" : "kept  \(path), which was there already")
        return isNew
    }

    private var configurationText: String {
        let starter = StarterSystem(system, at: address)
        func indented(_ lines: [String], by width: Int = 2) -> String {
            lines.map { String(repeating: " ", count: width) + $0 }.joined(separator: "\n")
        }
        return """
            # Bellhop's configuration. `bellhop check` says what is wrong with it; relative paths are relative to this file.
            version: 1
            project: \(ProjectLine.makeID())             # the name of this project's logins and secrets in the keychain
            timezone: UTC                     # for schedules and times in messages: Europe/Berlin, America/New_York, …

            connections:
            \(indented(starter.connection))
              ops:                            # where the rules send their messages: `to: ops`
            \(indented(receiver.lines, by: 4))

            sources:
            \(indented(starter.sources))

            """
    }
}

extension String {
    /// As one word of a shell's command, which is no option.
    fileprivate var quotedForShell: String {
        let word = hasPrefix("-") ? "./" + self : self
        return word.wholeMatch(of: /[A-Za-z0-9_.,:@%+\/-]+/) != nil ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
