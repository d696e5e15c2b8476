import BellhopCore

/// What is known about a delivery's write across attempts: kept in the notebook until proved or given up, deleted with the
/// delivery.
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
            throw Failure(.fileSystem, .retry(after: nil), "The delivery's notes cannot be read: \(error).")
        }
    }

    /// - Parameter remedy: retry if this fails before anything is sent; after a write, a failure here leaves the outcome unknown.
    func keep(_ note: JSON?, or remedy: Failure.Remedy = .retry(after: nil)) async throws(Failure) {
        do {
            try await notebook.setNote(key, to: note)
        } catch {
            throw Failure(.fileSystem, remedy, "The delivery's notes cannot be kept: \(error).")
        }
    }

    /// A leftover note is harmless.
    func forget() async {
        do { try await notebook.setNote(key, to: nil) } catch { return }
    }
}
