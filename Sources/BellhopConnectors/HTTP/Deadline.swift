import NIOCore
import NIOPosix

/// A bound in real time on something asynchronous. Network time is real time: a server does not follow a test's clock.
enum Deadline {
    struct Passed: Error {}

    /// The value of `work`, or `Passed` at the deadline, with `work` cancelled.
    static func run<Value: Sendable>(
        until deadline: NIODeadline, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A timer of the event loop, not Task.sleep: a cancelled sleep keeps its place in the runtime's queue until its time comes.
        let (alarm, bell) = AsyncStream.makeStream(of: Void.self)
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(deadline: deadline) { bell.finish() }
        defer { timer.cancel() }
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await work() }
            group.addTask {
                for await _ in alarm {}
                try Task.checkCancellation()
                throw Passed()
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw Passed() }
            return value
        }
    }
}
