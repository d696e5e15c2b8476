import BellhopCore

/// What is known of a delivery's write beyond an attempt, in the notebook until it is proved or given up.
struct DeliveryNote: Sendable {
    var connection: ServiceNowConnection
    var key: String

    init(_ kind: String, of delivery: Delivery, on connection: ServiceNowConnection) {
        self.connection = connection
        key = "unproved-\(kind)/\(delivery.id.text)"
    }

    func read() async throws(Failure) -> JSON? {
        do {
            return try await connection.notebook.note(key)
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "What is known of the delivery cannot be read: \(error).")
        }
    }

    /// Kept before anything is sent, so nothing has happened yet where that fails.
    func keep(_ note: JSON) async throws(Failure) {
        do {
            try await connection.notebook.setNote(key, to: note)
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "What is known of the delivery cannot be kept: \(error).")
        }
    }

    /// A note too many harms nobody.
    func forget() async {
        do { try await connection.notebook.setNote(key, to: nil) } catch { return }
    }
}
