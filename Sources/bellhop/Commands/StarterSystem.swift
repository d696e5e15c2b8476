import ArgumentParser
import BellhopAgent

/// The system that `bellhop init` connects to: its part of bellhop.yaml.
struct StarterSystem {
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case servicenow, eto, mobilefirst, http

        /// Whether a shipped rule fits: those that do more than report need ServiceNow's fields, and an API has no events of logins.
        func fits(_ rule: ShippedRules.File) -> Bool {
            switch self {
            case .servicenow: true
            case .eto, .mobilefirst: rule.name.hasPrefix("alert-")
            case .http: rule.name.hasPrefix("alert-") && !rule.name.hasPrefix("alert-on-failed-login.")
            }
        }
    }

    /// The lines under `connections`.
    let connection: [String]
    /// The lines under `sources`.
    let sources: [String]
    /// What the user does before storing the secrets of `ops`.
    let steps: [StarterStep]

    /// - Parameter address: what the user gave; nil for a placeholder.
    init(_ kind: Kind, at address: String?) {
        let paths = ["id": "id", "title": "title"]
        switch kind {
        case .servicenow: self.init(instance: address)
        case .eto:
            self.init(
                StarterEntry(
                    connection: "eto", kind: kind.rawValue,
                    values: ["auth": "{keychain: true}"].merging(address.map { ["address": $0] } ?? [:]) { $1 }),
                source: StarterEntry(
                    source: "my-work", kind: "touchpoints", names: ["touchpoint", "subject"], values: ["subject": "all"]),
                login: "asks for e-mail address and password, and prints what else to write under `eto`")
        case .mobilefirst:
            self.init(
                StarterEntry(connection: "mfp", kind: kind.rawValue, values: address.map { ["address": $0] } ?? [:]),
                source: StarterEntry(source: "my-work", kind: "adapter", names: ["adapter", "id", "title"], values: paths))
        case .http:
            self.init(
                StarterEntry(connection: "api", kind: kind.rawValue, values: address.map { ["url": $0] } ?? [:]),
                also: ["# auth: {bearer: \"${{ secret.api_token }}\"}   # or basic, or {api_key: {header: …, key: …}}"],
                source: StarterEntry(source: "my-work", kind: "rest", names: ["path", "id", "title"], values: paths))
        }
    }

    private init(_ entry: StarterEntry, also more: [String] = [], source: StarterEntry, login: String? = nil) {
        connection =
            ["\(entry.name):".padded(to: 32) + "# the system to watch"] + (entry.lines + more).map { "  " + $0 }
        var lines = source.lines + ["every: 1m"]
        lines.insert("connection: \(entry.name)", at: 1)
        sources = ["\(source.name):".padded(to: 32) + "# what to watch: `from: my-work` in rules"] + lines.map { "  " + $0 }
        steps = entry.steps + source.steps + (login.map { [StarterStep("bellhop login \(entry.name)", to: $0)] } ?? [])
    }

    private init(instance: String?) {
        connection = [
            "snow:                           # the tracker",
            "  kind: servicenow",
            "  \("instance: \(instance ?? ConfigurationManifest.placeholder)".padded(to: 28))  "
                + "# its name (acme.service-now.com) or its whole address",
            "  auth: {keychain: true}        # `bellhop login snow` asks for the user name and password and keeps them",
        ]
        sources = [
            "my-work:                        # the active tasks assigned to you (the Task Tracker API of the \"My Work\" update set)",
            "  kind: tracker",
            "  connection: snow",
            "  every: 1m",
            "incidents:                      # the open P1 incidents of everybody, as far as your account may read them",
            "  kind: table",
            "  connection: snow",
            "  table: incident",
            "  where: {active: true, priority: 1}",
            "  every: 1m",
        ]
        let name = "Write your instance's name into bellhop.yaml, where it says \(ConfigurationManifest.placeholder)."
        steps =
            (instance == nil ? [StarterStep(name)] : [])
            + [StarterStep("bellhop login snow", to: "asks for your user name and password, tries them, and stores them")]
    }
}
