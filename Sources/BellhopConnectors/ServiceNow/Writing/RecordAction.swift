import BellhopCore

/// What a delivery wants to write. One that can never be written fails at once.
protocol WriteOrder: Sendable {
    init(_ delivery: Delivery) throws(Failure)
}

/// An action that writes to an instance once, in a writing session.
protocol RecordAction: Action {
    associatedtype Order: WriteOrder

    /// The thing it writes, for messages: `file`.
    static var what: String { get }
    var connection: ServiceNowConnection { get }
    var times: WriteTimes { get }

    init(connection: ServiceNowConnection, times: WriteTimes)

    func proceed(_ order: Order, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt
}

extension RecordAction {
    init(connection: ServiceNowConnection) {
        let rate = connection.http.configuration.rate
        self.init(
            connection: connection, times: WriteTimes().waiting(rate?.wait(for: ServiceNowConnection.manifest.limits.requests)))
    }

    var session: ServiceNowSession { connection.writing }
    var place: String { connection.base.place }

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        try await attempt.holding(delivery, Self.what) { () async throws(Failure) in
            let order = try Order(delivery)
            return try await connection.writers.lend { session async throws(Failure) in
                var connection = self.connection
                connection.writing = session
                // Data read before this write is invalid for the next attempt.
                defer { if let task = delivery.task { self.connection.forget(task.key) } }
                return try await Self(connection: connection, times: times).proceed(order, delivery, attempt)
            }
        }
    }

    func note(of delivery: Delivery) -> DeliveryNote { DeliveryNote(of: delivery, in: connection.notebook) }
}
