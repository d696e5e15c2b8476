import BellhopCore

/// What is known of a write that may have been made.
struct WriteEvidence: Sendable, Hashable {
    /// By the server's clock, before it was first sent.
    var since: Timestamp?
    /// A person looked and said that it be sent again: good for one time.
    var isDecided = false
    /// How often the server said that it is done, and it was not.
    var refusals = 0
    /// The history that the task showed before it was first sent, for what is looked for there.
    var history: JournalHistory.Known?

    /// Whether a request may have been sent before: what is known of it is on disk before that, unless the store was put back.
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
    /// What is known at an attempt: nothing at the first; after a lost one, from when on to look. A person's retry is a word on it.
    func evidence(at attempt: Attempt) async throws(Failure) -> WriteEvidence {
        if attempt.isFirst { return WriteEvidence() }
        var evidence = WriteEvidence(json: try await read())
        if attempt.isDecided { evidence.isDecided = true }
        return evidence
    }
}

extension RecordAction {
    /// Throws while a request of an earlier attempt may still be at work; a person's word is not forgotten meanwhile.
    func waitOut(_ attempt: Attempt, _ evidence: WriteEvidence, _ notebook: DeliveryNote) async throws(Failure) {
        do throws(Failure) {
            try times.waitOut(attempt, Self.what, at: place, now: connection.clock.now)
        } catch {
            if evidence.isDecided { try await notebook.keep(evidence.json) }
            throw error
        }
    }
}
