import BellhopFiles
import NIOCore
import Synchronization

/// The open connections of a server. If there are too many, the one that has been idle longest is closed. If more than half of them have
/// no known sender, it is one of these. A connection whose request is being answered is never closed.
///
/// A class with a mutex, because connections belong to several threads.
package final class InboundConnections: Sendable {
    struct Status: Sendable {
        /// The number of the last change of its state: it was opened, its request arrived, or its answer was sent. Later changes
        /// have larger numbers.
        var lastChange: UInt64
        /// Whether its latest request came from a known sender.
        var isKnown = false
        /// Whether a complete request is being answered.
        var isAnswering = false
    }

    private struct Entry {
        var status: Status
        var channel: any Channel
    }

    private struct State {
        /// How many changes of state the connections have had.
        var changes: UInt64 = 0
        var entries: [ObjectIdentifier: Entry] = [:]
        var isStopping = false
    }

    private let most: Int
    private let state = Mutex(State())

    package init(most: Int) { self.most = most }

    /// - Parameters:
    ///   - most: the limit of open connections.
    ///   - server: lowers the limit to its share of the files and sockets that this process may have open.
    package convenience init(most: Int, of server: Server) {
        self.init(most: min(most, Descriptor.limit / server.filesPerConnection))
    }

    /// The servers, by the settings of bellhop.yaml that name their addresses.
    package enum Server: String, Sendable, CaseIterable {
        case console, inbound, telemetry

        /// How many files and sockets this process must be allowed to have open for each connection. So the servers together leave some for
        /// the store, the receivers and programs, however many connections there are.
        var filesPerConnection: Int {
            switch self {
            case .console: 2
            case .inbound: 4
            case .telemetry: 16
            }
        }
    }

    /// Adds a connection, and closes one if there are too many now.
    func add(_ channel: any Channel) {
        let victim = state.withLock { state -> (any Channel)? in
            state.changes += 1
            if state.isStopping { return channel }
            state.entries[ObjectIdentifier(channel)] = Entry(status: Status(lastChange: state.changes), channel: channel)
            guard state.entries.count > most else { return nil }
            let id = Self.victim(among: state.entries.mapValues(\.status), newest: ObjectIdentifier(channel), most: most)
            return state.entries.removeValue(forKey: id)?.channel
        }
        victim?.close(promise: nil)
    }

    /// Closes all connections that are not answering a complete request, and refuses new ones. The server closes the others when
    /// it has answered them.
    package func stop() {
        let unfinished = state.withLock { state in
            state.isStopping = true
            return state.entries.values.filter { !$0.status.isAnswering }.map(\.channel)
        }
        for channel in unfinished { channel.close(promise: nil) }
    }

    /// The connection to close.
    ///
    /// Before its first answer, a connection has no known sender. So half of the connections may be without one: otherwise, of two new
    /// connections at the same time, the second would close the first, however long others are idle.
    static func victim<ID: Hashable>(among statuses: [ID: Status], newest: ID, most: Int) -> ID {
        let idle = statuses.filter { $0.key != newest && !$0.value.isAnswering }
        let unknown = idle.filter { !$0.value.isKnown }
        return (unknown.count > most / 2 ? unknown : idle).min { $0.value.lastChange < $1.value.lastChange }?.key ?? newest
    }

    func remove(_ channel: any Channel) { state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(channel)) } }

    /// Records whether a request came from a known sender.
    func setKnown(_ isKnown: Bool, _ channel: any Channel) {
        state.withLock { $0.entries[ObjectIdentifier(channel)]?.status.isKnown = isKnown }
    }

    /// Records that a request is being answered, or that the connection is idle again.
    func setAnswering(_ isAnswering: Bool, _ channel: any Channel) {
        state.withLock { state in
            state.changes += 1
            state.entries[ObjectIdentifier(channel)]?.status.isAnswering = isAnswering
            state.entries[ObjectIdentifier(channel)]?.status.lastChange = state.changes
        }
    }
}
