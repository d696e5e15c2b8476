import Synchronization

/// Asks work to end soon.
///
/// A class over an atomic flag, because the work and its stopper share it.
public final class StopFlag: Sendable {
    private let raised = Atomic(false)

    public init() {}

    public var isRaised: Bool { raised.load(ordering: .acquiring) }

    public func raise() { raised.store(true, ordering: .releasing) }
}
