public import BellhopCore
public import BellhopTelemetry

/// Everything the engine reports about itself: each case is one named log line and its metrics. The list is the catalogue.
public enum Signal: Sendable {
    case polled(source: String, tasks: Int, events: Int, took: Duration)
    case unchanged(source: String, tasks: Int, took: Duration)
    case baseline(source: String, tasks: Int)
    /// `next` is nil if no poll follows.
    case pollFailed(source: String, failure: Failure, failures: Int, next: Timestamp?)
    /// A poll succeeded after some that failed, or after one whose result was held.
    case recovered(source: String, failures: Int, since: Timestamp?)
    case pollHeld(source: String, HeldResult)
    case pollSuperseded(source: String)
    case notice(source: String, text: String)
    /// A request from another system to a source's path was refused, with this status of HTTP.
    case requestRefused(source: String, status: Int, reason: String, times: Int = 1)
    case event(Event)
    /// The store did not accept this event, and Bellhop no longer retries it.
    case eventDropped(Event)
    /// A batch of events, timers or replays was decided.
    case routed(events: Int, deliveries: Int, took: Duration)
    case ruleFailed(rule: String, error: String, times: Int)
    /// A rule had more keys than it may remember: those that were not used for the longest time were dropped, or it was paused.
    case keysLost(KeyLoss)
    case shadowed(Delivery)
    case silenced(Delivery, silence: String)
    /// A quiet time keeps a message back until its end.
    case quiet(Delivery, until: Timestamp)
    /// A quiet time drops a message, or a newer one of its conversation outdates it.
    case dropped(Delivery, Failure)
    /// This many messages to a receiver are sent, because the quiet times that held them have ended.
    case released(receiver: String, count: Int)
    /// The condition of a silence is invalid with the present sources, so the silence keeps nothing back.
    case silenceRefused(id: String, problem: String)
    case delivered(Delivery, Receipt, attempt: Int, took: Duration)
    case retrying(Delivery, Failure, attempt: Int, at: Timestamp)
    /// The receiver accepts nothing until a time, or until a person resumes it (`until` is nil). `isNewRest` is true only for the
    /// first delivery that this rest postpones.
    case postponed(Delivery, Failure, until: Timestamp?, isNewRest: Bool)
    /// The circuit breaker of a receiver opened, or stays open after a failed trial.
    case breakerOpened(ReceiverStop)
    /// A delivery is tried at a receiver whose circuit breaker was open.
    case breakerTrial(receiver: String)
    case breakerClosed(ReceiverStop)
    /// A receiver gets no deliveries until a person resumes it.
    case receiverPaused(ReceiverStop)
    case receiverResumed(receiver: String)
    case dead(Delivery, Failure)
    case held(Delivery, Failure)
    case paused(Delivery, Failure, until: Timestamp)
    case leaseLost(Delivery)
    /// This many messages that waited for a receiver were combined into one.
    case coalesced(receiver: String, count: Int)
    case rescued(count: Int)
    case rulesLoaded(count: Int, warnings: Int)
    /// A rule was changed, turned off or removed while runs of it waited.
    case waitsEnded(EndedWaits)
    case rulesRefused(problems: Int)
    case ruleRefused(Diagnostic)
    case rulesUnwatched
    case configurationChanged(file: String)
    /// The changed configuration has mistakes: the agent goes on, but could not start with it.
    case configurationWrong(file: String, problem: String)
    /// The configuration is missing or cannot be read: the agent goes on, but could not start.
    case configurationUnreadable(file: String, problem: String)
    /// The configuration is readable and has no mistakes any more.
    case configurationRestored(file: String)
    case storeFailed(doing: String, StoreError, times: Int = 1)
    case pruned(rows: Int)
    /// The clock advanced by this much more than the elapsed time; negative if it was set back.
    case clockJumped(by: Duration)
    /// A connection was replaced because its secrets or its login changed; `problem` says why it is unusable, if it is.
    case rebound(connection: String, problem: String?)
    /// The OpenTelemetry receiver does not accept this data. Only for the first of several failures in a row.
    case telemetryFailed(OTLP.Signal, receiver: String, error: String)
    case telemetryRecovered(OTLP.Signal)
    case stopping(inFlight: Int)
}
