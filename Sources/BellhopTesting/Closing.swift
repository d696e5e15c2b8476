import Synchronization
public import Testing

/// Closes what each test of a suite has opened, once the test ends.
public struct Closing: SuiteTrait, TestTrait, TestScoping {
    public init() {}

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let open = OpenThings()
        await open.attempt { try await OpenThings.$current.withValue(open, operation: function) }
        try await open.close()
    }
}

extension Trait where Self == Closing {
    /// For suites whose tests call ``whenTestEnds(_:)`` or ``untilTestEnds(_:)``.
    public static var closing: Self { Self() }
}

/// Runs this once the test ends. What was opened last is closed first.
public func whenTestEnds(_ close: @escaping @Sendable () async throws -> Void) {
    if OpenThings.current == nil { Issue.record("The suite of this test lacks the trait `.closing`.") }
    (OpenThings.current ?? .leaked).closings.withLock { $0.append(close) }
}

/// The value that the work gives to its body, which ends when the test ends.
public func untilTestEnds<Value: Sendable>(
    _ work: @escaping @Sendable (_ body: @Sendable (Value) async throws -> Void) async throws -> Void
) async throws -> Value {
    let (values, given) = AsyncThrowingStream<Value, any Error>.makeStream()
    let (end, ends) = AsyncStream<Never>.makeStream()
    let working = Task {
        do {
            try await work { value in
                given.yield(value)
                for await _ in end {}
            }
            given.finish()
        } catch {
            given.finish(throwing: error)
            throw error
        }
    }
    whenTestEnds {
        ends.finish()
        try await working.joined()
    }
    for try await value in values { return value }
    throw CancellationError()
}

extension Task {
    /// Its value. If the task that waits for it is cancelled, as at the time limit of a test, this one is cancelled too.
    public func joined() async throws -> Success {
        try await withTaskCancellationHandler {
            try await value
        } onCancel: {
            cancel()
        }
    }
}

private final class OpenThings: Sendable {
    @TaskLocal static var current: OpenThings?
    static let leaked = OpenThings()
    let closings = Mutex<[@Sendable () async throws -> Void]>([])
    private let failure = Mutex<(any Error)?>(nil)

    /// Keeps the first error.
    func attempt(_ work: () async throws -> Void) async {
        do { try await work() } catch { failure.withLock { $0 = $0 ?? error } }
    }

    func close() async throws {
        while let closing = closings.withLock({ $0.popLast() }) { await attempt(closing) }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
