import BellhopCore

/// Looks at what a runtime lets this client do of all that the configured sources and the loaded rules need: the token, its scopes, and the
/// adapters that are read. Nothing is written: only what `GET` asks for is asked.
struct MobileFoundationExamination {
    let connection: MobileFoundationConnection
    let needs: ConnectionNeeds

    func run() async -> [Finding] {
        var findings: [Finding] = []
        do throws(Failure) {
            let scopes = try await connection.verifyToken()
            findings.append(Finding("token", .ok, "\(connection.clientID) has one for \(scopes)"))
        } catch {
            let isScope = error.reason == .forbidden
            findings.append(
                Finding(
                    "token", error,
                    remedy: isScope
                        ? "add the scope to the client at the server, or see `scope`" : "see `client_id` and `client_secret`"))
        }
        let said = connection.watch.said
        findings.append(.clock(said.time, here: connection.clock.now, whose: "the server"))
        guard findings[0].verdict == .ok else { return findings }
        for source in needs.sources { findings.append(await read(source)) }
        for need in needs.actions where need.action == AdapterAction.manifest.kind {
            let name = ["adapter", "service"].lazy.compactMap { need.constants[$0]?.asString }.first
            findings.append(
                Finding(
                    "call \(name ?? "adapter")", .unknown,
                    "rule \(need.rule): whether it answers, and with which scope, shows only when it is called",
                    remedy: "see that it is deployed, and that \(connection.clientID) has its scope"))
        }
        if let limit = Finding.limit(connection.watch.said.limit, whose: "the server") { findings.append(limit) }
        return findings
    }

    private func read(_ need: ConnectionNeeds.SourceNeed) async -> Finding {
        let subject = "read \(need.name)"
        do {
            guard let source = try connection.source(need.name, kind: need.kind, settings: need.settings) as? AdapterSource
            else { return Finding(subject, .unknown, "this source cannot be looked at") }
            guard let text = try await source.look() else {
                return Finding(
                    subject, .unknown, "it is not asked by GET, so asking is not tried",
                    remedy: "`bellhop query \(need.name)` asks, where that changes nothing")
            }
            return Finding(subject, .ok, text)
        } catch let failure as Failure {
            return Finding(subject, failure, remedy: Self.remedy(failure.reason))
        } catch {
            return Finding(subject, .missing, "\(error)", reason: .badArguments)
        }
    }

    private static func remedy(_ reason: Failure.Reason) -> String? {
        switch reason {
        case .forbidden: "add the scope to the client at the server"
        case .goneOrHidden: "see that the adapter is deployed, and that its name and path are right"
        case .badAnswer: "see `items` and `id`"
        default: nil
        }
    }
}
