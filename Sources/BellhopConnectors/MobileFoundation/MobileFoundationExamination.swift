import BellhopCore

/// Checks whether a runtime allows this client everything that the configured sources and the loaded rules need: the token, its
/// scopes, and the adapters that are read. It sends only `GET` requests.
struct MobileFoundationExamination {
    let connection: MobileFoundationConnection
    let needs: ConnectionNeeds

    func run() async -> [Finding] {
        var findings: [Finding] = []
        do throws(Failure) {
            let scopes = try await connection.verifyToken()
            findings.append(Finding("token", .ok, "\(connection.clientID) has a token for \(scopes)"))
        } catch {
            let remedy =
                error.reason == .forbidden
                ? "add the scope to the client on the server or check `scope`" : "check `client_id` and `client_secret`"
            findings.append(Finding("token", error, remedy: remedy))
        }
        findings.append(.clock(connection.watch.latest.time, here: connection.clock.now, server: "the server"))
        guard findings[0].state == .ok else { return findings }
        for source in needs.sources { findings.append(await read(source)) }
        for need in needs.actions where need.action == AdapterAction.manifest.kind {
            let name = ["adapter", "service"].lazy.compactMap { need.constants[$0]?.asString }.first
            findings.append(
                Finding(
                    "call \(name ?? "adapter")", .unknown,
                    "rule \(need.rule): whether it answers, and with which scope, cannot be checked in advance",
                    remedy: "check that it is deployed, and that \(connection.clientID) has its scope"))
        }
        if let limit = Finding.limit(connection.watch.latest.limit, server: "the server") { findings.append(limit) }
        return findings
    }

    private func read(_ need: ConnectionNeeds.SourceNeed) async -> Finding {
        let subject = "read \(need.name)"
        do {
            guard let source = try connection.source(need.name, kind: need.kind, settings: need.settings) as? AdapterSource
            else { return Finding(subject, .unknown, "this source cannot be examined") }
            guard let text = try await source.probe() else {
                return Finding(
                    subject, .unknown, "its method is not GET, so it was not tried",
                    remedy: "`bellhop query \(need.name)` tries it; run it only if the request changes no data")
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
        case .forbidden: "add the scope to the client on the server"
        case .goneOrHidden: "check the adapter's name and path, and that it is deployed"
        case .badAnswer: "check `items` and `id`"
        default: nil
        }
    }
}
