import BellhopCore
import Synchronization

/// A source whose connection can be rebuilt while it is polled. Its stored state stays the same: see ``scope``.
///
/// A class with a mutex, because one task replaces the underlying source while another polls it.
final class BoundSource: Source {
    private struct Binding {
        var source: any Source
        /// The failure of every poll; nil in normal operation.
        var refusal: Failure?
    }

    let name: String
    let scope: Scope
    /// The name of its connection.
    let connection: String
    var receiver: String { connection }
    private let binding: Mutex<Binding>

    init(_ source: any Source, connection: String) {
        self.connection = connection
        name = source.name
        scope = source.scope
        binding = Mutex(Binding(source: source))
    }

    /// The current underlying source.
    var current: any Source { binding.withLock { $0.source } }

    /// Switches to another source of the same scope.
    func bind(_ source: any Source) {
        precondition(source.scope.id == scope.id, "Connectors.rebind keeps the scope")
        binding.withLock { $0 = Binding(source: source) }
    }

    /// Makes every poll fail until the source is bound again.
    func refuse(_ failure: Failure) { binding.withLock { $0.refusal = failure } }

    var schema: TaskSchema { current.schema }
    var hidesChanges: Bool { current.hidesChanges }
    var shows: RecordKind { current.shows }
    var mostDepartures: Int { current.mostDepartures }

    func prepare(offline: Bool) async { await current.prepare(offline: offline) }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer { try await usable().list(from: lastPoll) }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        try await usable().details(of: keys, in: listing)
    }

    private func usable() throws(Failure) -> any Source {
        let binding = binding.withLock { $0 }
        if let refusal = binding.refusal { throw refusal }
        return binding.source
    }
}
