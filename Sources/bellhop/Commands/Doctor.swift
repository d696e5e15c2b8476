import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check that everything needed is there: names, certificates, logins, rights.",
        discussion: """
            Each line is `ok`, a `note`, `unknown` (it could not be checked) or `missing`, with a remedy. Every connection is \
            asked, and logged in to once. No message is sent, and nothing is stored except refused logins, so that they are not \
            tried again and again.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let configuration = try await config.load()
        let examination = try await examine(configuration)
        if output.json {
            Console.json(examination.json)
        } else {
            Self.print(examination)
        }
        if let code = examination.outcome.exit { throw ExitCode(code.rawValue) }
    }

    private func examine(_ configuration: Configuration) async throws(CommandError) -> Examination {
        let withoutLogin = try Workplace.missingLogins(configuration)
        let connectors = try await Workplace.connectors(
            configuration, notebook: CommandNotes(store: configuration.store, environment: config.environment)
        ) { connection in
            // For a connection without a stored login: this is reported, and no request is sent.
            withoutLogin.contains(connection) ? .init(username: "nobody", password: "none") : nil
        }
        var local = LocalExamination(configuration, keychain: configuration.keychain).findings()
        var rules: [RuleSummary] = []
        do throws(Diagnostics) {
            let loaded = try await RuleLoading.book(configuration, sources: connectors.sources)
            rules = loaded.book.rules
            let count = rules.count
            local.append(
                count == 0
                    ? Finding("rules", .note, "there are none", remedy: "`bellhop init` writes rules to start from")
                    : Finding("rules", .ok, "\(count) rule\(count == 1 ? "" : "s")"))
        } catch {
            let errors = error.errorCount
            local.append(
                Finding(
                    "rules", .missing, "they have \(errors) error\(errors == 1 ? "" : "s"), so their needs are unknown",
                    remedy: "`bellhop check` says which", reason: .badArguments))
        }
        let examination = await Examination(
            configuration, connectors: connectors, rules: rules, local: local, withoutLogin: withoutLogin)
        await connectors.shutdown()
        return examination
    }

    private static func print(_ examination: Examination) {
        let width = examination.sections.flatMap(\.findings).map { $0.subject.unicodeScalars.count }.max() ?? 0
        for section in examination.sections {
            Console.data(Paint.bold(section.name.singleLine) + " (\(section.what.singleLine))")
            for finding in section.findings {
                let word = finding.state.rawValue.padded(to: 7)
                Console.data(
                    "  \(finding.state.paint(word))  \(finding.subject.singleLine.padded(to: width))  \(finding.text.singleLine)"
                )
                if let remedy = finding.remedy {
                    Console.data("  " + "".padded(to: 7 + 2 + width) + "  → \(remedy.singleLine)")
                }
            }
        }
    }
}

extension Finding.State {
    var paint: Paint {
        switch self {
        case .ok: .green
        case .note, .unknown: .yellow
        case .missing: .red
        }
    }
}

extension Examination.Outcome {
    /// Nil if all is fine.
    var exit: CommandError.Code? {
        switch self {
        case .badConfiguration: .badConfiguration
        case .loginRefused: .loginRefused
        case .unreachable: .unreachable
        case .cannotCreate: .cannotCreate
        case .problem: .problem
        case .fine: nil
        }
    }
}

extension Examination {
    var json: JSON {
        [
            "ok": .bool(outcome == .fine),
            "sections": .array(
                sections.map { section in
                    [
                        "name": .string(section.name), "what": .string(section.what),
                        "findings": .array(section.findings.map(\.json)),
                    ]
                }),
        ]
    }
}

extension Finding {
    fileprivate var json: JSON {
        var members: JSON.Object = [
            "subject": .string(subject), "verdict": .string(state.rawValue), "text": .string(text),
        ]
        members["remedy"] = remedy.map(JSON.string)
        members["reason"] = reason.map { .string($0.rawValue) }
        return .object(members)
    }
}
