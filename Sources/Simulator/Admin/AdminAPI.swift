/// The simulator's own endpoint, `/simulator/…`: no login, no faults, JSON in and out.
struct AdminAPI: Sendable {
    let simulation: Simulation

    /// A request that makes no sense.
    struct Problem: Error {
        var message: String
    }

    func answer(_ request: ReceivedRequest) -> Reply {
        .text(404, "")
    }
}
