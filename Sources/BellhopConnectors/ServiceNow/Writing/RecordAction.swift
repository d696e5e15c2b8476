import BellhopCore

/// What a delivery asks to be written, read from it: what no attempt can ever write is given up at once.
protocol WriteOrder: Sendable {
    init(_ delivery: Delivery) throws(Failure)
}

/// An action that writes to an instance, once, in the session that writes.
protocol RecordAction: Action {
    associatedtype Order: WriteOrder

    /// What it writes, for messages: `file`.
    static var what: String { get }
    var connection: ServiceNowConnection { get }
    var times: WriteTimes { get }

    init(connection: ServiceNowConnection, times: WriteTimes)

    func proceed(_ order: Order, _ delivery: Delivery, _ attempt: Attempt) async throws(Failure) -> Receipt
}

extension RecordAction {
    init(connection: ServiceNowConnection) {
        let rate = connection.http.configuration.rate
        self.init(connection: connection, times: WriteTimes().at(rate, requests: ServiceNowConnection.requestsOfWrite))
    }

    var session: ServiceNowSession { connection.writing }
    var place: String { connection.base.place }

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        try await attempt.holding(delivery, Self.what) { () async throws(Failure) in
            let order = try Order(delivery)
            return try await connection.writers.lend { session async throws(Failure) in
                var connection = self.connection
                connection.writing = session
                // What was read of the task before this is of no use to the next.
                defer { if let task = delivery.task { self.connection.forget(task.key) } }
                return try await Self(connection: connection, times: times).proceed(order, delivery, attempt)
            }
        }
    }

    func note(of delivery: Delivery) -> DeliveryNote { DeliveryNote(of: delivery, in: connection.notebook) }
}
