import ArgumentParser
import BellhopAgent
import BellhopConnectors
import BellhopConsole
import BellhopCore
import BellhopRules

struct Doctor: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check that everything needed is there: names, certificates, logins, rights.",
        discussion: """
            Each line is `ok`, a `note`, `unknown` (it could not be checked) or `missing`, with a remedy. Doctor logs in once to \
            every connection and sends requests to it. No message is sent without --send. Nothing is stored except refused \
            logins, so that they are not tried again and again.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Send a test message to each connection that takes messages. Pagers really call people.")
    var send = false

    func run() async throws {
        let configuration = try await config.load()
        let examination = try await examine(configuration)
        if output.json { Console.json(examination.json) } else { Self.print(examination, in: configuration.timeZone) }
        if let code = examination.outcome.exit { throw ExitCode(code.rawValue) }
    }

    private func examine(_ configuration: Configuration) async throws(CommandError) -> Examination {
        let withoutLogin = try Workspace.missingLogins(configuration)
        let connectors = try await Workspace.connectors(
            configuration, notebook: CommandNotes(store: configuration.store, environment: config.environment)
        ) { connection in
            // A placeholder for a missing login: the examination reports it, and sends no request with it.
            withoutLogin.contains(connection) ? .init(username: "nobody", password: "none") : nil
        }
        var local = LocalExamination(configuration).findings()
        var rules: [RuleSummary] = []
        do throws(Diagnostics) {
            let loaded = try await RuleLoading.book(configuration, sources: connectors.sources)
            rules = loaded.book.rules
            let count = rules.count
            local.append(
                count == 0
                    ? Finding("rules", .note, "there are none", remedy: "`bellhop init` writes rules to start from")
                    : Finding("rules", .ok, counted(count, "rule")))
        } catch {
            let errors = error.errorCount
            local.append(
                Finding(
                    "rules", .missing, "they have \(counted(errors, "error")), so their needs are unknown",
                    remedy: "`bellhop check` says which", reason: .badArguments))
        }
        if let finding = ServerCertificate.finding(configuration.console, at: SystemClock().now) { local.append(finding) }
        let status: JSON
        do throws(CommandError) { status = try await self.status() } catch {
            status = .null
            // Of a store that cannot be read, its own finding says why.
            if !local.contains(where: { $0.subject == "store" && $0.state == .missing }) {
                local.append(Finding("agent", .missing, error.message ?? "it cannot be asked"))
            }
        }
        local += Self.pauses(in: status)
        var examination = await Examination(
            configuration, connectors: connectors, rules: rules, local: local, withoutLogin: withoutLogin)
        if send { try await sendMessages(configuration, connectors, &examination) }
        Self.addPauses(in: status, to: &examination)
        await connectors.shutdown()
        return examination
    }

    /// What the agent, or its store, says; null before an agent has run. An agent that hangs delays the other findings only a little.
    private func status() async throws(CommandError) -> JSON {
        var link = try config.storeLink()
        link.agentTimeout = 5
        return link.hasRun ? try await link.answer(.status) : .null
    }

    private static func addPauses(in status: JSON, to examination: inout Examination) {
        for stop in status["stopped"].elements where stop["until"]?.isNull ?? true {
            guard let name = stop["receiver"]?.asString,
                let place = examination.sections.firstIndex(where: { $0.name == name && $0.name != "this machine" })
            else { continue }
            let waiting = stop["waiting"]?.asInt ?? 0
            examination.sections[place].findings.append(
                Finding(
                    "sending", stop["cause"] == "person" ? .note : .missing,
                    "it is paused, and \(counted(waiting, "delivery waits", "deliveries wait"))\(stop["reason"].textOrEmpty.afterColon)",
                    remedy: "`bellhop resume \(name)` sends what waits"))
        }
    }

    /// Whether pagers may call people: asks on a terminal; otherwise only prints a warning.
    private static func mayCall(_ pagers: [String]) throws(CommandError) -> Bool {
        if pagers.isEmpty { return true }
        Console.note("The test message to \(pagers.listed) really calls the people on duty.")
        return try Console.isInteractive ? Console.ask("Call them? [y/N] ").isYes : true
    }

    /// The pauses of rules and writes, and the active silences.
    private static func pauses(in status: JSON) -> [Finding] {
        let paused = status["paused"].elements.map { pause in
            let name = pause["rule"]?.asString
            return Finding(
                name == nil ? "writes" : "rules", pause["by_person"] == false ? .missing : .note,
                "\(name.map { "rule \($0) is" } ?? "writes to tasks are") paused\(pause["reason"].textOrEmpty.afterColon)",
                remedy: "`bellhop resume \(name ?? "--writes")` ends it")
        }
        let silences = status["silences"].elements.filter { $0["active"] != false }.map { silence in
            let id = silence["id"].textOrEmpty
            return Finding(
                "silences", .note, "silence \(id) keeps messages back until \(silence["ends"].textOrEmpty)",
                remedy: "`bellhop silence end \(id)` ends it")
        }
        return paused + silences
    }

    /// Sends a test message to each receiver, unless a finding says that something is missing.
    private func sendMessages(
        _ configuration: Configuration, _ connectors: Connectors, _ examination: inout Examination
    ) async throws(CommandError) {
        let pagers = Set(Catalogue.connections.filter(\.callsPeople).map(\.kind))
        let names = configuration.connections.filter { pagers.contains($0.kind) }.map(\.name)
        let skipped = try Self.mayCall(names) ? [] : names
        for receiver in TestMessage.receivers(in: configuration) {
            guard let place = examination.sections.firstIndex(where: { $0.name == receiver }),
                !examination.sections[place].findings.contains(where: { $0.state == .missing })
            else { continue }
            if skipped.contains(receiver) {
                examination.sections[place].findings.append(Finding("message", .unknown, "not sent: it would call people"))
                continue
            }
            let finding =
                switch await TestMessage.send(TestMessage.message(to: receiver), to: receiver, through: connectors) {
                case .success(let receipt): Finding("message", .ok, receipt.summary)
                case .failure(let failure): Finding("message", failure)
                }
            examination.sections[place].findings.append(finding)
        }
    }

    private static func print(_ examination: Examination, in zone: TimeZoneTable) {
        let width = examination.sections.flatMap(\.findings).map { $0.subject.singleLine.shownWidth }.max() ?? 0
        let margin = 2 + 7 + 2 + width + 2
        for section in examination.sections {
            Console.data(Paint.bold(section.name.singleLine) + " (\(section.what.singleLine))")
            for finding in section.findings {
                let word = finding.state.rawValue.padded(to: 7)
                let text = finding.text.singleLine.withLocalTimes(in: zone)
                let line = "  \(finding.state.paint(word))  \(finding.subject.singleLine.padded(to: width))  \(text)"
                Console.data(line.wrapped(to: Screen.dataWidth, indent: margin))
                if let remedy = finding.remedy {
                    let advice = "".padded(to: margin) + "→ \(remedy.singleLine)"
                    Console.data(advice.wrapped(to: Screen.dataWidth, indent: margin + 2))
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
        var members: JSON.Object = ["subject": .string(subject), "verdict": .string(state.rawValue), "text": .string(text)]
        members["remedy"] = remedy.map(JSON.string)
        members["reason"] = reason.map { .string($0.rawValue) }
        return .object(members)
    }
}
