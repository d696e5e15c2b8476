import BellhopAgent
import BellhopConnectors
import BellhopCore
@testable import BellhopRules
import BellhopTesting
import YAML

/// A YAML listing of the documentation. Its keys show the kind of file; missing parts are added, so that it can be read.
enum DocumentedExample: Sendable {
    case configuration(String)
    case rules(String)
    case tests(String)

    /// Nil if it is of no known kind.
    init?(_ text: String) throws {
        guard let root = try YAML.parse(text).first?.root else { return nil }
        let names = Set(root.mapping?.names ?? [])
        let ofRules = Set(RuleKeys.rule.map(\.name))
        let ofConfiguration = Set(ConfigurationManifest.root.map(\.name)).union(ConfigurationManifest.others)
        if root.items != nil {
            self = .rules("rule: example\non: task_changed\ndo:\n" + text)
        } else if names.contains("tests") {
            self = .tests(text)
        } else if names.contains("rule") || root["rules"]?.items?.first?.mapping != nil {
            self = .rules(text)
        } else if names.contains("version") {
            self = .configuration(text)
        } else if names.isSubset(of: ofConfiguration) {
            self = .configuration("version: 1\n" + text + (names.contains("connections") ? "" : Self.connections))
        } else if names.isSubset(of: ofRules) {
            let head = "rule: example\n" + (names.contains("on") ? "" : "on: task_changed\n")
            self = .rules(head + text + (names.contains("do") ? "" : "do: [{log: x}]\n"))
        } else {
            return nil
        }
    }

    private static let connections = """

        connections:
          snow: {kind: servicenow, instance: acme, auth: {keychain: true}}

        """

    var ruleName: String? {
        guard case .rules(let text) = self, let root = try? YAML.parse(text).first?.root else { return nil }
        return root["rule"]?.scalarText
    }

    /// The sources named by its rules.
    var sources: Set<String> {
        guard case .rules(let text) = self, let root = try? YAML.parse(text).first?.root else { return [] }
        let rules = root["rules"]?.items ?? [root]
        return Set(rules.flatMap { $0["from"]?.items?.compactMap(\.scalarText) ?? $0["from"]?.scalarText.map { [$0] } ?? [] })
    }

    // MARK: Checking

    /// The diagnostics that `bellhop check` would print for it.
    func problems(at place: String, in worlds: [RuleContext]) async -> [String] {
        switch self {
        case .configuration(let text): await Self.problems(ofConfiguration: text, at: place)
        case .rules(let text):
            worlds.flatMap { world in
                do throws(Diagnostics) {
                    let file = RuleFile(path: place, bytes: Array(text.utf8))
                    return try RuleBook.load([file], context: world).warnings.map { $0.rendered() }
                } catch {
                    return error.all.map { $0.rendered() }
                }
            }
        case .tests: []
        }
    }

    private static func problems(ofConfiguration text: String, at place: String) async -> [String] {
        do throws(ConfigurationError) {
            _ = try await context(of: text, file: place)
            return []
        } catch {
            switch error {
            case .diagnostics(let problems): return problems.all.map { $0.rendered() }
            case .unreadable(let message): return [message]
            case .secret(let problem): return [problem.message]
            }
        }
    }

    /// The configuration that rules are checked against, with a value for each of its secrets in the keychain.
    static func context(of text: String, file: String) async throws(ConfigurationError) -> RuleContext {
        let folder: TemporaryFolder
        let keychain: Keychain
        do {
            folder = try TemporaryFolder()
            keychain = Keychain(path: folder.path + "/keychain.json")
            try folder.write("holidays.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n")
            for match in text.matches(of: /secret\.(\w+)/) {
                // One value that is valid both as a password and as an address; some keys have a form of their own.
                let value =
                    switch match.1 {
                    case "pagerduty": String(repeating: "0", count: 32)
                    case "slack_bot": "xoxb-0"
                    case "telegram_bot": "1:" + String(repeating: "a", count: 30)
                    case let name where name.hasSuffix("_key"): "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
                    default: "https://example.com/x"
                    }
                try keychain.setSecret(String(match.1), to: value)
            }
        } catch { throw .unreadable("\(error)") }
        let loader = ConfigurationLoader(environment: [:], keychain: keychain)
        let configuration = try await loader.load(Array(text.utf8), file: "\(folder.path)/\(file)")
        let connectors: Connectors
        do throws(AssemblyError) {
            connectors = try await Assembly.connectors(
                configuration, clock: SystemClock(), events: NoOpSink(), notebook: NoOpSink(), output: { _ in },
                login: { _ in Keychain.Login(username: "john.doe", password: "none") }, tokens: NoTokenStorage())
        } catch {
            switch error {
            case .diagnostics(let problems): throw .diagnostics(problems)
            case .store(let error): throw .unreadable(error.message)
            }
        }
        let calendars: [String: WorkCalendar]
        do throws(Diagnostics) {
            calendars = try CalendarEntry.read(configuration.calendars, at: SystemClock().now)
        } catch {
            throw .diagnostics(error)
        }
        let context = RuleLoading.context(configuration, sources: connectors.sources, calendars: calendars)
        await connectors.shutdown()
        return context
    }
}
