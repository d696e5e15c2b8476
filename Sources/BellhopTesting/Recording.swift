import Synchronization

/// Values in the order in which they were added.
///
/// A class over a mutex, because a test reads what several tasks add.
public final class Recording<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    public init() {}

    public var all: [Value] { values.withLock { $0 } }

    /// Adds a value, and returns the number of values so far.
    @discardableResult
    public func add(_ value: Value) -> Int {
        values.withLock { values in
            values.append(value)
            return values.count
        }
    }
}
