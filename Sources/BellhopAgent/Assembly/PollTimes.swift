import BellhopCore
import BellhopEngine
import Synchronization

/// When each source was last polled well. The store is told only of polls that showed something, so that the running agent knows better.
///
/// A class over a mutex, because every poller tells it and the control socket asks it.
final class PollTimes: Sendable {
    private let times = Mutex<[String: Timestamp]>([:])

    func hear(_ signal: Signal, at now: Timestamp) {
        switch signal {
        case .polled(let source, _, _, _), .unchanged(let source, _, _): times.withLock { $0[source] = now }
        case .baseline, .pollFailed, .pollHeld, .pollSuperseded, .notice, .event, .routed, .ruleFailed, .shadowed, .delivered,
            .retrying, .postponed, .dead, .held, .paused, .leaseLost, .rescued, .rulesLoaded, .rulesRefused, .ruleRefused,
            .rulesUnwatched,
            .configurationChanged, .storeFailed, .pruned, .clockJumped, .stopping:
            break
        }
    }

    var json: JSON.Object { times.withLock { $0.reduce(into: [:]) { $0[$1.key] = .string($1.value.rfc3339) } } }
}
