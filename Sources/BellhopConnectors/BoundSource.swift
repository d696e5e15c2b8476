import BellhopCore
import Synchronization

/// A source of a connection that may be made anew while it is polled. What it knows stays the same: see ``scope``.
///
/// A class over a mutex, because its poller holds it while somebody else replaces what it reads from.
final class BoundSource: Source {
    private struct Binding {
        var source: any Source
        /// Why nothing is asked; nil while it can be.
        var refusal: Failure?
    }

    let name: String
    let scope: Scope
    /// The name of the connection that it reads from.
    let connection: String
    var receiver: String { connection }
    private let binding: Mutex<Binding>

    init(_ source: any Source, connection: String) {
        self.connection = connection
        name = source.name
        scope = source.scope
        binding = Mutex(Binding(source: source))
    }

    /// What it reads from now.
    var current: any Source { binding.withLock { $0.source } }

    /// Goes on with another source of the same scope.
    func bind(_ source: any Source) {
        precondition(source.scope.id == scope.id, "Connectors.rebind binds no source of another scope")
        binding.withLock { $0 = Binding(source: source) }
    }

    /// Fails until it is bound again.
    func refuse(_ failure: Failure) { binding.withLock { $0.refusal = failure } }

    var schema: TaskSchema { current.schema }
    var hidesChanges: Bool { current.hidesChanges }
    var shows: Shown { current.shows }
    var mostDepartures: Int { current.mostDepartures }

    func prepare(offline: Bool) async { await current.prepare(offline: offline) }

    func list(from standing: Standing) async throws(Failure) -> Answer { try await usable().list(from: standing) }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        try await usable().details(of: keys, in: listing)
    }

    private func usable() throws(Failure) -> any Source {
        let binding = binding.withLock { $0 }
        if let refusal = binding.refusal { throw refusal }
        return binding.source
    }
}
