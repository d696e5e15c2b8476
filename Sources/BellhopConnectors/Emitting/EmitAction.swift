public import BellhopCore

/// Emits an event of a type that bellhop.yaml declares.
///
/// Most emitted events are stored together with the run, without this action. It emits those that wait for an earlier step, and
/// those that a person edited. The event's id follows from the delivery, so that a repeated attempt stores it once.
public struct EmitAction: Action {
    public static let manifest = ActionManifest(
        kind: "emit", summary: "Emits an event, for which other rules can wait.", receiver: .local(nil), shorthand: "type",
        arguments: [
            Setting("type", .name, required: true, "The type, declared under `events` in bellhop.yaml."),
            Setting("subject", .text, "What the event is about; by default what the rule's own event is about."),
            Setting("data", .map(.json), "The members that the type declares."),
        ], emitsEvent: true)

    private let events: any EventSink

    public init(_ events: any EventSink) { self.events = events }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard let event = delivery.emittedEvent(at: attempt.now) else {
            throw Failure.badArguments("The step names no `type` of event.")
        }
        do throws(StoreError) {
            try await events.emit([event])
        } catch {
            throw Failure(.fileSystem, .retry(after: nil), "The event could not be stored: \(error).")
        }
        return Delivery.receipt(for: event)
    }
}
