import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// Counts a server's connections between accepting and handling them.
///
/// NIO ends the process if an accepted connection is never handled: so a server stops accepting, and waits for these connections,
/// before it ends. A class over a lock, because event loops and tasks count.
final class ConnectionCount: Sendable {
    private struct State {
        var unhandled = 0
        var listening: (any Channel)?
    }

    private let state = Mutex(State())

    func listens(on channel: any Channel) { state.withLock { $0.listening = channel } }
    fileprivate func add(_ number: Int) { state.withLock { $0.unhandled += number } }

    /// Stops accepting connections, and waits until all accepted ones are handled.
    func stopTaking() async {
        guard let channel = state.withLock({ $0.listening }) else { return }
        // If this fails, the server has ended by itself and accepts no connections either.
        try? await channel.setOption(.autoRead, value: false).get()
        for _ in 0..<1000 where state.withLock({ $0.unhandled > 0 }) { try? await Task.sleep(for: .milliseconds(1)) }
    }
}

/// A channel whose connections are counted until they are handled.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    private let base: Base
    private let count: ConnectionCount

    init(_ base: Base, counting count: ConnectionCount) {
        self.base = base
        self.count = count
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        count.add(1)
        let made = base.setup(channel: channel, logger: logger)
        made.whenFailure { [count] _ in count.add(-1) }
        return made
    }

    func handle(value: Base.Value, logger: Logger) async {
        count.add(-1)
        await base.handle(value: value, logger: logger)
    }
}
