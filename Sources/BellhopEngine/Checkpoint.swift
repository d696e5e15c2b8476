/// Moments between which a process may die without losing or repeating anything. A test stops the process at one of them.
public enum Checkpoint: String, Sendable, Hashable, CaseIterable {
    case beforePollCommit = "before-t1"
    case afterPollCommit = "after-t1"
    case beforeRoute = "before-t2"
    case afterRoute = "after-t2"
    case beforeSilences = "before-silences"
    case afterSilences = "after-silences"
    case beforeRelease = "before-release"
    case afterRelease = "after-release"
    case beforeClaim = "before-t3"
    case afterClaim = "after-t3"
    case afterPerform = "after-perform"
    case afterFinish = "after-t4"
}
