import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

extension Bench {
    /// Stores a comment written by us now.
    func comment(on key: TaskKey, hop: Int) async throws { try await write("comment", ["text": "hello"], to: key, hop: hop) }

    /// Stores an update written by us now.
    func update(_ key: TaskKey, _ fields: JSON.Object, hop: Int) async throws {
        try await write("update", ["fields": .object(fields)], to: key, hop: hop)
    }

    private func write(_ action: String, _ arguments: JSON.Object, to key: TaskKey, hop: Int) async throws {
        let subject = "https://acme.example/\(key.text)"
        let delivery = Delivery(
            id: .init(
                occasion: .init("event/\(key.text)/\(now.microseconds)"), rule: "r", step: StepPath(index: 0), receiver: "snow"),
            revision: "1", action: action, effect: .writes, arguments: .values(arguments),
            task: TaskReference(source: "my-work", key: key, number: "", title: "", className: "", url: "", subject: subject),
            lane: "task/\(key.text)", createdAt: now, hop: hop)
        try await store.route(Routing(deliveries: [delivery]))
        let action = ScriptedAction()
        try await Dispatcher(context, actions: { _ in action }).dispatchPending()
    }
}
