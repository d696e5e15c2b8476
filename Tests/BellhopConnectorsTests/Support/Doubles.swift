import BellhopCore
import BellhopTesting
import Synchronization

@testable import BellhopConnectors

/// A notebook in memory that can be made to refuse writes.
final class MemoryNotebook: Notebook {
    struct Broken: Error {}

    private let notes = Mutex<[String: JSON]>([:])
    private let isBroken = Mutex(false)
    private let written = Mutex(0)

    /// The number of writes and deletions of notes.
    var writes: Int { written.withLock { $0 } }

    func note(_ key: String) async throws -> JSON? { notes.withLock { $0[key] } }

    func setNote(_ key: String, to value: JSON?) async throws {
        if isBroken.withLock({ $0 }) { throw Broken() }
        notes.withLock { $0[key] = value }
        written.withLock { $0 += 1 }
    }

    func refuseWriting() { isBroken.withLock { $0 = true } }

    var all: [String: JSON] { notes.withLock { $0 } }
}

final class EventLog: EventSink {
    private let kept = Mutex<[Event]>([])

    func emit(_ events: [Event]) async { kept.withLock { $0 += events } }
    func retry(_ events: [Event], after error: StoreError) {}

    var events: [Event] { kept.withLock { $0 } }

    /// `login_event ok`, `login_event failed`, `session_expired`.
    var summary: [String] {
        events.map { event in
            switch event.data["ok"] {
            case .bool(true)?: event.type.name + " ok"
            case .bool(false)?: event.type.name + " failed"
            default: event.type.name
            }
        }
    }
}

/// Sends each request as a test says.
struct GivenExchange: HTTPExchange {
    let sending: @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse { try await sending(request) }
}

/// Answers from a list, and records the requests.
final class ScriptedExchange: HTTPExchange {
    private struct State {
        var answers: [HTTPResponse]
        var requests: [HTTPRequest] = []
        var running = 0
        var most = 0
    }

    private let state: Mutex<State>

    init(_ answers: [HTTPResponse]) { state = Mutex(State(answers: answers)) }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// The most concurrent requests.
    var most: Int { state.withLock { $0.most } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        state.withLock { state in
            state.requests.append(request)
            state.running += 1
            state.most = max(state.most, state.running)
        }
        for _ in 0..<20 { await Task.yield() }
        let answer = state.withLock { state -> HTTPResponse? in
            state.running -= 1
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
        }
        guard let answer else { throw TransportError(.unreachable, mayHaveArrived: false, "nothing is scripted") }
        return answer
    }
}

extension HTTPResponse {
    static func json(_ status: Int = 200, _ headers: HeaderFields = [:], _ body: String) -> HTTPResponse {
        var headers = headers
        headers["Content-Type"] = "application/json;charset=UTF-8"
        return HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    static func html(_ status: Int = 200, _ body: String) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "text/html"], body: Array(body.utf8))
    }
}

extension Connectors {
    /// Closes the connections when the test ends.
    func untilTestEnds() -> Connectors {
        whenTestEnds { await self.shutdown() }
        return self
    }
}

extension Connection {
    /// Closes the connection when the test ends.
    func untilTestEnds() -> Self {
        whenTestEnds { try await self.shutdown() }
        return self
    }
}
