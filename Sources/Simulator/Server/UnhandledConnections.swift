import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// A server's connections from when they are accepted until they are handled.
///
/// NIO ends the process if an accepted connection is dropped before it is handled, for example because the server ends at that
/// moment. So each connection is kept here, and a server that has ended handles those that are left.
///
/// A class over a lock, because event loops and tasks use it.
final class UnhandledConnections: Sendable {
    private struct State {
        var waiting: [ObjectIdentifier: @Sendable () async -> Void] = [:]
        /// The connections that are being set up.
        var begun = 0
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// False if the server has ended and accepts no more connections.
    fileprivate func begin() -> Bool {
        state.withLock { state in
            if !state.hasEnded { state.begun += 1 }
            return !state.hasEnded
        }
    }

    /// - Parameter handle: handles the connection; nil if its setup failed.
    fileprivate func accept(_ channel: ObjectIdentifier, _ handle: (@Sendable () async -> Void)?) {
        state.withLock { state in
            state.begun -= 1
            state.waiting[channel] = handle
        }
    }

    fileprivate func remove(_ channel: ObjectIdentifier) { _ = state.withLock { $0.waiting.removeValue(forKey: channel) } }

    /// Handles what is left, after the server has ended.
    func finish() async {
        state.withLock { $0.hasEnded = true }
        while state.withLock({ $0.begun > 0 }) { await Task.yield() }
        let left = state.withLock { state in
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for handle in left { await handle() }
    }
}

/// A channel whose connections are kept until they are handled.
struct TrackedChannel<Base: ServerChildChannel>: ServerChildChannel {
    struct ServerEnded: Error {}

    private let base: Base
    private let connections: UnhandledConnections

    init(_ base: Base, in connections: UnhandledConnections) { (self.base, self.connections) = (base, connections) }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        guard connections.begin() else { return channel.eventLoop.makeFailedFuture(ServerEnded()) }
        let made = base.setup(channel: channel, logger: logger)
        let name = ObjectIdentifier(channel)
        made.whenComplete { [base, connections] result in
            switch result {
            case .success(let value):
                connections.accept(name) {
                    value.channel.close(promise: nil)
                    await base.handle(value: value, logger: logger)
                }
            case .failure: connections.accept(name, nil)
            }
        }
        return made
    }

    func handle(value: Base.Value, logger: Logger) async {
        connections.remove(ObjectIdentifier(value.channel))
        await base.handle(value: value, logger: logger)
    }
}
