import BellhopCore

/// What is known of a delivery's write beyond an attempt, in the notebook until it is proved or given up, and forgotten with the delivery.
struct DeliveryNote: Sendable {
    private let notebook: any Notebook
    private let key: String

    init(of delivery: Delivery, in notebook: any Notebook) {
        self.notebook = notebook
        key = delivery.noteKey
    }

    func read() async throws(Failure) -> JSON? {
        do {
            return try await notebook.note(key)
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "What is known of the delivery cannot be read: \(error).")
        }
    }

    /// - Parameter remedy: before anything is sent nothing has happened yet where this fails, so it is tried again; after a write all that
    ///   goes wrong here leaves its outcome unknown.
    func keep(_ note: JSON?, or remedy: Failure.Remedy = .retry(after: nil)) async throws(Failure) {
        do {
            try await notebook.setNote(key, to: note)
        } catch {
            throw Failure(.fileSystem, remedy, "What is known of the delivery cannot be kept: \(error).")
        }
    }

    /// A note too many harms nobody.
    func forget() async {
        do { try await notebook.setNote(key, to: nil) } catch { return }
    }
}
