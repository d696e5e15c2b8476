import BellhopCore
import BellhopTesting
import Synchronization

@testable import BellhopInbound

/// Records the calls of a handler's closures: a class with a mutex, because they share it.
final class DeskRecorder: Sendable {
    struct State {
        var events: [Event] = []
        var polled: [String] = []
        /// The sources and the statuses of refused requests.
        var refused: [String] = []
        var tasks: [[JSON]] = []
        var failure: Failure?
        var error: StoreError?
        var count = 0
    }

    let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }
    var polled: [String] { state.withLock { $0.polled } }
    var refused: [String] { state.withLock { $0.refused } }

    func fail(with error: StoreError?) { state.withLock { $0.error = error } }

    func handler(
        _ endpoints: InboundEndpoint..., unknownSenders: Rate = Rate(count: 600, per: .seconds(60)),
        clock: TestClock = TestClock()
    ) -> InboundHandler {
        InboundHandler(
            endpoints, unknownSenders: unknownSenders, clock: clock,
            storeEvents: { events throws(StoreError) in
                let error = self.state.withLock { state in
                    if state.error == nil { state.events += events }
                    return state.error
                }
                if let error { throw error }
            },
            storeTasks: { source, items throws(Failure) in
                let failure = self.state.withLock { state in
                    if state.failure == nil { state.tasks.append(items) }
                    return state.failure
                }
                if let failure { throw failure }
            }, poll: { source in self.state.withLock { $0.polled.append(source) } },
            refused: { source, answer in self.state.withLock { $0.refused.append("\(source) \(answer.status)") } },
            unique: {
                self.state.withLock { state in
                    state.count += 1
                    return "\(state.count)"
                }
            })
    }
}

extension InboundEndpoint {
    static let definition = EventDefinition(
        EventType("deploy_finished"), "", from: .outside,
        [
            Setting("service", .text, required: true, ""), Setting("count", .integer(Int.min...Int.max), ""),
            Setting("ok", .boolean, ""), Setting("more", .json, ""),
        ])

    static func events(
        definition: EventDefinition = definition, items: String? = nil, fields: [String: String] = [:],
        headers: [String: String] = [:], id: String? = nil, dedupKey: EventReading.DedupKey? = nil, largestBody: Int = 1000,
        rate: Int = 1000
    ) -> InboundEndpoint {
        InboundEndpoint(
            path: "/in/deploys", key: .bearer(["token"]),
            purpose: .events(
                EventReading(
                    source: "deploys", definition: definition, items: items.flatMap { JSON.Path(text: $0) },
                    fields: fields.compactMapValues { JSON.Path(text: $0) }, headers: headers,
                    id: id.flatMap { JSON.Path(text: $0) },
                    dedupKey: dedupKey)), largestBody: largestBody, rate: Rate(count: rate, per: .seconds(60)))
    }

    static let push = InboundEndpoint(
        path: "/in/snow", key: .bearer(["token"]), purpose: .push(source: "my-work"), largestBody: 100,
        rate: Rate(count: 5, per: .seconds(5)))
}
