import BellhopCore
import BellhopEngine

/// A delivery that a test enqueues, with a lane of its own unless it names one.
struct TestDelivery {
    let text: String
    let receiver: String
    let lane: String?
    let action: String
    let task: TaskKey?
    let retry: RetryPolicy
    let runAt: Timestamp?
    let expires: Timestamp?

    init(
        _ text: String, receiver: String = "chat", lane: String? = nil, action: String = "log", task: TaskKey? = nil,
        retry: RetryPolicy = RetryPolicy(attempts: 4, base: .seconds(8), cap: .seconds(3600)), runAt: Timestamp? = nil,
        expires: Timestamp? = nil
    ) {
        self.text = text
        self.receiver = receiver
        self.lane = lane
        self.action = action
        self.task = task
        self.retry = retry
        self.runAt = runAt
        self.expires = expires
    }

    func delivery(at now: Timestamp) -> Delivery {
        let reference = task.map {
            TaskReference(
                source: "my-work", key: $0, number: "INC", title: "", className: "", url: "",
                subject: "https://acme.example/\($0.text)")
        }
        return Delivery(
            id: .init(occasion: .init("event/\(text)"), rule: "rule", step: StepPath(index: 0), receiver: receiver),
            revision: "1",
            action: action, effect: action == "comment" ? .writes : nil, arguments: .values(["text": .string(text)]),
            task: reference, lane: lane ?? "\(receiver)/\(text)",
            createdAt: now, runAt: runAt, expires: expires, retry: retry)
    }
}

extension Bench {
    func enqueue(_ deliveries: [TestDelivery]) async throws {
        try await store.route(Routing(deliveries: deliveries.map { $0.delivery(at: now) }))
        context.bells.dispatcher.ring()
    }
}
