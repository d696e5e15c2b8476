import BellhopCore

extension Inquirer {
    func silences(ended: Bool) async throws(StoreError) -> JSON {
        let now = clock.now
        let records = try await store.silences().filter { ended || ($0.ended == nil && $0.silence.ends > now) }
        return ["silences": .array(records.map { .object($0.json(at: now)) })]
    }

    func add(_ silence: Silence) async throws(StoreError) -> JSON {
        guard silence.ends > clock.now else { throw StoreError(.other, "The end of the silence is in the past.") }
        let silence = silence.identified
        let isNew = try await store.add(silence, at: clock.now)
        try await agent?.applySilences()
        return ["id": .string(silence.id), "changed": .bool(isNew)]
    }

    func endSilence(_ id: String) async throws(StoreError) -> JSON {
        let open = try await store.silences().filter { $0.ended == nil && !id.isEmpty && $0.silence.id.hasPrefix(id) }
        guard let found = open.first else {
            throw StoreError(.other, "No active or future silence has the id `\(id)`: `bellhop silence list` shows them.")
        }
        guard open.count == 1 else { throw StoreError(.other, "Several silences begin with \(id): give more of the id.") }
        let ended = try await store.endSilence(found.silence.id, at: clock.now)
        try await agent?.applySilences()
        return .object((ended ?? found).json(at: clock.now))
    }
}

extension SilenceRecord {
    /// The record, with a member that says whether the silence is active.
    func json(at now: Timestamp) -> JSON.Object {
        var json = json
        json["active"] = .bool(ended == nil && silence.isActive(at: now))
        return json
    }
}
