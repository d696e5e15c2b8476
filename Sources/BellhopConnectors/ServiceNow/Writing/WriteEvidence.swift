import BellhopCore

/// What is known of a possible write.
struct WriteEvidence: Sendable, Hashable {
    /// The server's time before the first send.
    var since: Timestamp?
    /// A person decided to resend it: valid once.
    var isDecided = false
    /// How often the server claimed success without having written.
    var refusals = 0
    /// The task's history before the first send, to search in it.
    var history: JournalHistory.Known?

    /// Whether a request may have been sent: its evidence is stored before sending, unless the store was restored.
    func mayBeSent(before attempt: Attempt) -> Bool { since != nil || attempt.lastUncertain != nil }

    init() {}

    init(json: JSON?) {
        since = json?["since"]?.asInt.map { Timestamp(microseconds: $0) }
        isDecided = json?["decided"] == .bool(true)
        refusals = json?["refusals"]?.asInt.flatMap { Int(exactly: $0) } ?? 0
        history = JournalHistory.Known(json: json?["history"])
    }

    var json: JSON {
        var members: JSON.Object = [:]
        members["since"] = since.map { .int($0.microseconds) }
        if isDecided { members["decided"] = .bool(true) }
        if refusals > 0 { members["refusals"] = .int(Int64(refusals)) }
        if let history { members["history"] = history.json }
        return .object(members)
    }
}

extension DeliveryNote {
    /// The evidence at an attempt: none at the first; after a lost one, when to look from. A person's retry is a decision.
    func evidence(at attempt: Attempt) async throws(Failure) -> WriteEvidence {
        if attempt.isFirst { return WriteEvidence() }
        var evidence = WriteEvidence(json: try await read())
        if attempt.isDecided { evidence.isDecided = true }
        return evidence
    }
}

extension RecordAction {
    /// Throws while an earlier request may still be running; a person's decision stays valid meanwhile.
    func waitOut(_ attempt: Attempt, _ evidence: WriteEvidence, _ notebook: DeliveryNote) async throws(Failure) {
        do throws(Failure) {
            try times.waitOut(attempt, Self.what, at: place, now: connection.clock.now)
        } catch {
            if evidence.isDecided { try await notebook.keep(evidence.json) }
            throw error
        }
    }
}
