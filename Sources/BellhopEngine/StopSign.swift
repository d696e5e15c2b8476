import Synchronization

/// Says that a loop shall end after what it has begun.
///
/// A class over an atomic flag, because the one who raises it and the loop share it.
public final class StopSign: Sendable {
    private let raised = Atomic(false)

    public init() {}

    public var isUp: Bool { raised.load(ordering: .acquiring) }

    public func raise() { raised.store(true, ordering: .releasing) }
}
