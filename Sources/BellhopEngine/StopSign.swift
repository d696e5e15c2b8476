import Synchronization

/// Asks a loop to end after its current work.
///
/// A class over an atomic flag, because the loop and its stopper share it.
public final class StopSign: Sendable {
    private let raised = Atomic(false)

    public init() {}

    public var isUp: Bool { raised.load(ordering: .acquiring) }

    public func raise() { raised.store(true, ordering: .releasing) }
}
