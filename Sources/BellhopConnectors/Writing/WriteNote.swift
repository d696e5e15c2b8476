import BellhopCore

/// What one attempt to write stores for the next attempt of the same delivery.
struct WriteNote: Sendable, Hashable {
    /// The other side's time before the first request that it may have received; nil before one was sent.
    var since: Timestamp?
    /// A person has decided about the attempt that started then: it no longer prevents another.
    var decided: Timestamp?
    /// How often the other side said that it was written, although it was not.
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

/// Where a delivery's ``WriteNote`` is kept until the write is proved or given up. It is deleted with the delivery.
struct DeliveryNote: Sendable {
    private let notebook: any Notebook
    private let key: String

    init(of delivery: Delivery, in notebook: any Notebook) {
        self.notebook = notebook
        key = delivery.noteKey
    }

    /// The note at an attempt; empty at the first. A person's retry is a decision, and is kept at once.
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

    /// - Parameter remedy: retry if this fails before anything is sent; after a write, a failure here leaves the outcome unknown.
    func keep(_ note: WriteNote, or remedy: Failure.Remedy = .retry(after: nil)) async throws(Failure) {
        do {
            try await notebook.setNote(key, to: note.json)
        } catch {
            throw Failure(.fileSystem, remedy, "The delivery's notes cannot be kept: \(error).")
        }
    }

    /// A leftover note is harmless.
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
