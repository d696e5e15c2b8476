import BellhopCore

/// Pauses of rules, and of all writes to tasks.
extension Inquirer {
    /// Does nothing if it is already paused.
    func pause(_ subject: Pause.Subject, why: String) async throws(StoreError) -> JSON {
        if case .rule(let name) = subject {
            let known = try await store.status(at: clock.now).rules.map(\.rule)
            guard known.contains(name) else {
                let help = Suggestion.didYouMean(name, among: known) ?? "`bellhop status` lists the rules."
                throw StoreError(.other, "There is no rule `\(name)`: \(help)")
            }
        }
        let isNew = try await store.pause(Pause(subject, since: clock.now, why: why))
        if isNew { try await agent?.applyPauses() }
        return ["changed": .bool(isNew)]
    }

    func resume(_ subject: Pause.Subject) async throws(StoreError) -> JSON {
        let wasPaused = try await store.resume(subject, at: clock.now)
        if wasPaused {
            try await agent?.applyPauses()
            agent?.wake()
        }
        return ["changed": .bool(wasPaused)]
    }
}

extension Pause {
    /// Why a delivery waits, in the same form as a receiver's stop.
    var json: JSON {
        var json: JSON.Object = ["cause": "writes", "since": .string(since.rfc3339), "until": .null, "why": .string(why)]
        if case .rule(let name) = subject { (json["cause"], json["rule"]) = ("rule", .string(name)) }
        return .object(json)
    }
}
