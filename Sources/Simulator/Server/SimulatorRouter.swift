import BellhopCore
import Synchronization

/// Routes each request to its simulated system and applies the faults that are due.
struct SimulatorRouter: Sendable {
    /// The response to send, or how the connection ends without one.
    enum Outcome: Sendable {
        case reply(Reply)
        /// The head and this many bytes of the body, then the connection ends.
        case cut(Reply, after: Int)
        /// A TCP reset without an answer.
        case reset
        /// No answer, until the client gives up.
        case silence
    }

    let simulation: Simulation
    let admin: AdminAPI
    private let queues = SessionQueues()

    init(_ simulation: Simulation) {
        self.simulation = simulation
        admin = AdminAPI(simulation: simulation)
    }

    func answer(_ request: ReceivedRequest) async throws -> Outcome {
        if request.segments.first == "simulator" { return .reply(admin.answer(request)) }
        simulation.requests.note(request)
        let draw = simulation.faults.draw(for: request.method, request.path, query: request.query, at: simulation.now())
        // A host that hangs does not read the cookies, so the request does not wait in its session's queue.
        if draw.ending == .hangs, !draw.takesEffect { return .silence }
        let instance = simulation.instance
        let session = instance.session(of: request)
        let limit = instance.settings.sessionQueue
        let outcome = try await queues.run(session, limit: limit, onQueue: { instance.noteQueued() }) {
            let latency = draw.milliseconds + (isForInstance(request) ? instance.settings.latency : 0)
            if latency > 0 { try await Task.sleep(for: .milliseconds(latency)) }
            return perform(request, draw)
        }
        if let outcome { return outcome }
        instance.noteDropped()
        return .reply(Reply(202))
    }

    private func perform(_ request: ReceivedRequest, _ draw: FaultPlan.Draw) -> Outcome {
        switch draw.ending?.effect(at: simulation.now()) {
        case .reply(var reply)?:
            if draw.takesEffect { _ = regularReply(request, draw.quirks) }
            reply.set("Date", CivilTime.http(simulation.now()))
            return .reply(reply)
        case .reset(afterEffect: false)?: return .reset
        case .reset(afterEffect: true)?:
            _ = regularReply(request, draw.quirks)
            return .reset
        case .silence?:
            _ = regularReply(request, draw.quirks)
            return .silence
        case .cut?:
            let reply = regularReply(request, draw.quirks)
            return .cut(reply, after: reply.body.count / 2)
        case .changed(let change)?: return .reply(change(regularReply(request, draw.quirks)))
        case .delay?, .quirk?, nil: return .reply(regularReply(request, draw.quirks))
        }
    }

    private func isForInstance(_ request: ReceivedRequest) -> Bool {
        let first = request.segments.first ?? ""
        return !["hooks", "webhook", "API", "mfp", "external", "rest", "openid", "otlp"].contains(first)
            && !SimulatedChats.paths.contains(first)
            && !SimulatedServices.paths.contains(first)
    }

    private func regularReply(_ request: ReceivedRequest, _ quirks: Set<Fault>) -> Reply {
        let reply =
            switch request.segments.first {
            case "hooks", "webhook": simulation.receivers.answer(request)
            case let chat? where SimulatedChats.paths.contains(chat):
                simulation.receivers.recording(simulation.chats.answer(request), to: request)
            case let service? where SimulatedServices.paths.contains(service): simulation.services.answer(request)
            case "API": simulation.eto.answer(request)
            case "mfp", "external": simulation.mobileFoundation.answer(request)
            case "openid": simulation.openID.answer(request)
            case "otlp": simulation.telemetry.answer(request)
            case "rest": simulation.api.answer(request, quirks)
            default: simulation.instance.answer(request, quirks: quirks)
            }
        return reply.with("Date", CivilTime.http(simulation.now()))
    }
}

/// The queues of the sessions: one request of a session runs at a time, some wait, more are refused.
///
/// A class over a lock, because the tasks of many connections share it.
final class SessionQueues: Sendable {
    private struct Queue {
        let gate = FIFOGate()
        /// The running request and those that wait.
        var requests = 0
    }

    private let queues = Mutex<[Int: Queue]>([:])

    /// Runs the body when it is the session's turn.
    ///
    /// - Parameter onQueue: called if the request must wait.
    /// - Returns: nil if more than `limit` requests wait already.
    func run<Value: Sendable>(
        _ session: Int?, limit: Int, onQueue: @Sendable () -> Void, _ body: @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let session else { return try await body() }
        let place = queues.withLock { queues -> (gate: FIFOGate, waits: Bool)? in
            let queue = queues[session, default: Queue()]
            guard queue.requests <= limit else { return nil }
            queues[session, default: queue].requests += 1
            return (queue.gate, queue.requests > 0)
        }
        guard let place else { return nil }
        defer {
            queues.withLock { queues in
                queues[session]?.requests -= 1
                if queues[session]?.requests == 0 { queues[session] = nil }
            }
        }
        if place.waits { onQueue() }
        return try await place.gate.pass(body)
    }
}
