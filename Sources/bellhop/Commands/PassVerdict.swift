import BellhopCore
import BellhopEngine

/// The result of `run --once`: its most serious problem. Problems that need a person come first.
struct PassVerdict {
    /// The most serious problem; nil if everything is done.
    let trouble: CommandError?

    /// - Parameters:
    ///   - before: the store before the pass.
    ///   - ended: how many deliveries the pass left dead or held.
    init(_ pass: Engine.Pass, before: StoreStatus, after: StoreStatus, ended: Int) {
        var failures: [Failure] = []
        var held: [String] = []
        for poll in pass.polls {
            switch poll.outcome {
            case .failed(let failure): failures.append(failure)
            case .held: held.append(poll.source)
            case .unchanged, .baseline, .changed, .superseded: break
            }
        }
        let errors = Dictionary(before.rules.map { ($0.rule, $0.errors) }) { first, _ in first }
        let failed = after.rules.filter { $0.errors > errors[$0.rule] ?? 0 }
        let left = after.deliveries[.available] ?? 0
        if let failure = failures.first {
            trouble = CommandError(failure)
        } else if ended > 0 {
            trouble = CommandError(
                .problem,
                "\(counted(ended, "delivery is", "deliveries are")) dead or held, and need\(ended == 1 ? "s" : "") a decision: see `bellhop deliveries`."
            )
        } else if let paused = after.stops.first(where: { $0.stop.cause == .refusal && $0.waiting > 0 })?.stop {
            trouble = CommandError(
                .problem, "\(paused.receiver) is paused: \(paused.sentence) Repair it, then `bellhop resume \(paused.receiver)`.")
        } else if let rule = failed.first {
            let others = failed.count > 1 ? " \(failed.count - 1) more failed: see `bellhop status`." : ""
            trouble = CommandError(.problem, "The rule \(rule.rule) failed: \(rule.lastError ?? "see `bellhop status`")\(others)")
        } else if !held.isEmpty {
            trouble = CommandError(
                .tryLater,
                "The result of \(held.map { "`\($0)`" }.joined(separator: " and ")) is held until the next poll shows the same: run this again."
            )
        } else if left > 0 {
            trouble = CommandError(
                .tryLater,
                "\(counted(left, "delivery is", "deliveries are")) still to be made, by the next run: see `bellhop deliveries`.")
        } else {
            trouble = nil
        }
    }
}
