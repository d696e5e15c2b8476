import BellhopCore

/// The facts that one attempt to write stores for the next attempt of the same delivery.
struct WriteNote: Sendable, Hashable {
    /// The other side's time before the first request; nil before anything was sent.
    var since: Timestamp?
    /// The start of an attempt about which a person has decided, so that it no longer prevents another one.
    var decided: Timestamp?
    /// How often the other side confirmed the write although it was absent.
    var denials = 0
    /// See ``Write/before``.
    var before: JSON?

    init() {}

    init(json: JSON?) {
        since = json?["since"]?.asInt.map { Timestamp(microseconds: $0) }
        decided = json?["decided"]?.asInt.map { Timestamp(microseconds: $0) }
        denials = json?["denials"]?.asInt.flatMap { Int(exactly: $0) } ?? 0
        before = json?["before"]
    }

    var json: JSON {
        var members: JSON.Object = [:]
        members["since"] = since.map { .int($0.microseconds) }
        members["decided"] = decided.map { .int($0.microseconds) }
        if denials > 0 { members["denials"] = .int(Int64(denials)) }
        members["before"] = before
        return .object(members)
    }
}

/// Stores a delivery's ``WriteNote`` until the write is proved or given up. The note is deleted with the delivery.
struct DeliveryNote: Sendable {
    private let notebook: any Notebook
    private let key: String

    init(of delivery: Delivery, in notebook: any Notebook) {
        self.notebook = notebook
        key = delivery.noteKey
    }

    /// The note for an attempt; empty for the first. A person's retry is a decision, which is stored at once.
    func read(at attempt: Attempt) async throws(Failure) -> WriteNote {
        if attempt.isFirst { return WriteNote() }
        var note: WriteNote
        do {
            note = WriteNote(json: try await notebook.note(key))
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The delivery's notes cannot be read: \(error).")
        }
        if attempt.isDecided, note.decided != attempt.lastUncertain {
            note.decided = attempt.lastUncertain
            try await keep(note)
        }
        return note
    }

    /// - Parameter remedy: the remedy if this fails: `.unknownOutcome` after a write.
    func keep(_ note: WriteNote, or remedy: Failure.Remedy = .retry(after: nil)) async throws(Failure) {
        do {
            try await notebook.setNote(key, to: note.json)
        } catch {
            throw Failure(.fileSystem, remedy, "The delivery's notes cannot be kept: \(error).")
        }
    }

    /// Deletes the note. Ignores failures, because a leftover note is harmless.
    func forget() async {
        do { try await notebook.setNote(key, to: nil) } catch { return }
    }
}

extension Delivery {
    /// The step's arguments, for an action without a message.
    func values() throws(Failure) -> JSON.Object {
        if case .values(let values) = arguments { return values }
        throw Failure(
            .badArguments, .giveUp,
            "This delivery does not contain what `\(action)` needs; it was made by another version of Bellhop.")
    }
}
