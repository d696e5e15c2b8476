import BellhopCore
import Synchronization

typealias CommentAction = RecordAction<Comment>
typealias UpdateAction = RecordAction<Update>
typealias CreateAction = RecordAction<Creation>
typealias AttachAction = RecordAction<Attachment>

/// The arguments of a delivery that writes to an instance. Its initializer throws a final failure for invalid arguments.
protocol WriteOrder: Sendable {
    associatedtype Work: Write

    static var manifest: ActionManifest { get }

    init(_ delivery: Delivery) throws(Failure)

    /// The gate for orders that must run one after the other; nil if the order needs none.
    func gate(on connection: ServiceNowConnection) -> FIFOGate?

    /// Prepares the write; sends only read requests.
    func work(in context: WriteContext, _ note: WriteNote) async throws(Failure) -> Work
}

extension WriteOrder {
    func gate(on connection: ServiceNowConnection) -> FIFOGate? { nil }
}

/// An action that writes to an instance once, in a writing session.
struct RecordAction<Order: WriteOrder>: Action {
    let connection: ServiceNowConnection
    let times: WriteTimes

    static var manifest: ActionManifest { Order.manifest }

    init(connection: ServiceNowConnection, times: WriteTimes? = nil) {
        self.connection = connection
        let configuration = connection.http.configuration
        var standard = WriteTimes()
        // Requests may wait because of the connection's rate limit. With 5000/h they could wait for an hour, but hardly ever do: an
        // attempt that would have to is made again, so that one with a lost answer need not be waited for as long.
        let requests = ServiceNowConnection.manifest.limits.requests
        standard.start +=
            configuration.rate.map { min($0.wait(for: requests), max($0.evenWait(for: requests), .seconds(60))) } ?? .zero
        // A request that may be sent and answered more slowly than usual may also end later on the server.
        standard.server += max(configuration.timeout - WriteTimes.usualTimeout, .zero)
        self.times = times ?? standard
    }

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        try await attempt.holding(delivery, Order.Work.noun) { () async throws(Failure) in
            let order = try Order(delivery)
            return try await connection.writers.lend { session async throws(Failure) in
                // Data read before this write is invalid for the next attempt.
                defer { if let task = delivery.task { connection.forget(task.key) } }
                let context = WriteContext(connection: connection, session: session, attempt: attempt, times: times)
                let writer = Writer(
                    delivery: delivery, attempt: attempt, notebook: connection.notebook, clock: connection.clock, times: times,
                    place: connection.base.place)
                func perform() async throws(Failure) -> Receipt {
                    try await writer.perform { note async throws(Failure) in try await order.work(in: context, note) }
                }
                guard let gate = order.gate(on: connection) else { return try await perform() }
                return try await gate.inTurn { () async throws(Failure) in try await perform() }
            }
        }
    }
}

/// The connection and the data that one attempt to write uses.
struct WriteContext: Sendable {
    let connection: ServiceNowConnection
    let session: ServiceNowSession
    let attempt: Attempt
    let times: WriteTimes

    var place: String { connection.base.place }

    /// A task, read now or by the lookup for an earlier attempt since a moment.
    func read(_ task: TaskReference, fields: [String] = [], since: Timestamp = .distantPast) async throws(Failure) -> TaskRecord {
        let query = TaskPrefetch.Query(
            task: task.key, table: fields.isEmpty ? "task" : task.className, fields: fields,
            upcoming: attempt.upcomingTasks(besides: task.key))
        if let record = try await connection.taskPrefetch.record(for: query, since: since, session) { return record }
        return try await TaskRecord.read(task, fields: fields, session)
    }
}

/// Sends a write in a session. The server may ask for a login although the write took effect, so the write is sent again only after
/// a lookup.
struct WriteRequest: Sendable {
    private var onSessionEnd = SessionState.OnSessionEnd.report

    mutating func send(
        _ call: ServiceNowCall, _ session: ServiceNowSession, _ judge: (ServiceNowReply) throws(Failure) -> Sent
    ) async throws(Failure) -> Sent {
        let isLast = onSessionEnd == .stop
        do throws(Failure) {
            switch try await session.send(call, onSessionEnd) {
            case .reply(let reply): return try judge(reply)
            case .tokenWanted:
                onSessionEnd = .stop
                return .notTaken
            case .loginWanted:
                onSessionEnd = .stop
                return .unclear(
                    Failure(
                        .sessionExpired, .unknownOutcome,
                        "\(session.base.place) answered the write with a request for a new login."))
            }
        } catch  where isLast && [.sessionExpired, .loginRequired, .unauthenticated, .csrf].contains(error.reason) {
            throw Failure(error.reason, .unknownOutcome, error.message)
        }
    }
}

/// The writing sessions. Each is lent to one attempt at a time, from the read before a write to its proof: if attempts shared a
/// session, each would wait for all requests of the others.
///
/// A class over a lock, because independent attempts share it.
final class WritingSessions: Sendable {
    let all: [ServiceNowSession]
    private let turns: [FIFOGate]
    /// How many attempts use or await each session.
    private let users: Mutex<[Int]>

    init(_ sessions: [ServiceNowSession]) {
        all = sessions
        turns = sessions.map { _ in FIFOGate() }
        users = Mutex(sessions.map { _ in 0 })
    }

    /// Lends the session with the fewest users, when it is free.
    func lend<Value: Sendable>(_ work: (ServiceNowSession) async throws(Failure) -> Value) async throws(Failure) -> Value {
        let place = users.withLock { users in
            let place = users.indices.min { users[$0] < users[$1] } ?? 0
            users[place] += 1
            return place
        }
        defer { users.withLock { $0[place] -= 1 } }
        return try await turns[place].inTurn { () async throws(Failure) in try await work(all[place]) }
    }
}
