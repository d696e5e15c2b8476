import BellhopCore

/// Checks whether ETO's services allow this account everything that the configured sources and the loaded rules need: each step of
/// the login, and the watched responses. Writes nothing, and keeps the current program, because a running agent of Bellhop may
/// depend on it.
struct ETOExamination {
    let connection: ETOConnection
    let needs: ConnectionNeeds

    func run() async -> [Finding] {
        var findings = await connection.session.examine()
        let isLoggedIn = findings.allSatisfy { $0.state != .missing }
        findings.append(.clock(connection.watch.latest.time, here: connection.clock.now, server: "ETO"))
        guard isLoggedIn else { return findings }
        for source in needs.sources { findings.append(await read(source)) }
        var seen: Set<String> = []
        for need in needs.actions where need.action == TouchPointAction.manifest.kind {
            let number = ItemValue.text(need.constants["touchpoint"])
            let program = ItemValue.text(need.constants["program"])
            if seen.insert("\(number) \(program)").inserted { findings.append(await add(number, need)) }
        }
        if let limit = Finding.limit(connection.watch.latest.limit, server: "the server") { findings.append(limit) }
        return findings
    }

    private func read(_ need: ConnectionNeeds.SourceNeed) async -> Finding {
        let subject = "read \(need.name)"
        do {
            guard let source = try connection.source(need.name, kind: need.kind, settings: need.settings) as? TouchPointsSource
            else { return Finding(subject, .unknown, "this source cannot be examined") }
            if let wrong = await wrongProgram(source.program, subject, "the source") { return wrong }
            let (count, text) = try await source.probe()
            if count == 0, await isAbsent(source.touchPoint) {
                return Finding(
                    subject, .missing, "there is no TouchPoint \(source.touchPoint) for this account",
                    remedy: "check `touchpoint`, and that the account's role may use it", reason: .goneOrHidden)
            }
            return Finding(subject, .ok, text)
        } catch let failure as Failure {
            var finding = Finding(subject, failure, remedy: remedy(failure.reason))
            if connection.hasProgram || need.settings.text("program") != nil {
                (finding.state, finding.reason) = (.unknown, nil)
                finding.text += " This check did not change the program; it may succeed in the source's own program."
            }
            return finding
        } catch {
            return Finding(subject, .missing, "\(error)", reason: .badArguments)
        }
    }

    private func remedy(_ reason: Failure.Reason) -> String? {
        switch reason {
        case .forbidden, .goneOrHidden, .refused, .serverError, .unauthenticated:
            "check the TouchPoint and the subject, and that the account's role may read its responses in this site and program"
        default: nil
        }
    }

    /// The finding if a source or a step names a program that does not exist; nil if it exists, or if the check fails.
    private func wrongProgram(_ program: ETOProgram?, _ subject: String, _ namedBy: String) async -> Finding? {
        guard let program else { return nil }
        do throws(Failure) {
            try await connection.session.check(program, namedBy: namedBy)
            return nil
        } catch {
            guard error.reason == .badArguments else { return nil }
            return Finding(subject, error, remedy: "check the `program` of \(namedBy)")
        }
    }

    /// Whether the services report that the TouchPoint does not exist; false if the request fails.
    private func isAbsent(_ touchPoint: Int64) async -> Bool {
        do throws(Failure) { return try await readTouchPoint(touchPoint).isNothing } catch { return false }
    }

    private func readTouchPoint(_ id: Int64) async throws(Failure) -> ETOReply {
        var call = ETOCall.touchPoint(id)
        call.keepsProgram = true
        return try await connection.session.send(call)
    }

    private func add(_ number: String, _ need: ConnectionNeeds.ActionNeed) async -> Finding {
        let uncheckable = "whether the account may add to it cannot be checked in advance"
        guard let id = Int64(number) else { return Finding("add responses", .unknown, "rule \(need.rule): \(uncheckable)") }
        let subject = "add to \(id)"
        let program = ETOProgram(ItemValue.text(need.constants["program"]))
        if let wrong = await wrongProgram(program, subject, "rule \(need.rule)") { return wrong }
        do throws(Failure) {
            guard try await !readTouchPoint(id).isNothing else {
                return Finding(
                    subject, .missing, "rule \(need.rule): there is no TouchPoint \(id) for this account",
                    remedy: "check the number, and that the account's role may use it", reason: .goneOrHidden)
            }
            return Finding(
                subject, .unknown, "rule \(need.rule): the TouchPoint \(id) exists; \(uncheckable)",
                remedy: "check that the account's role may add responses to it")
        } catch {
            return Finding(
                subject, .unknown, "rule \(need.rule): \(uncheckable), and the TouchPoint cannot be read: \(error.message)",
                remedy: "check the number, and that the account's role may use it")
        }
    }
}
