import BellhopConnectors
import BellhopCore
import BellhopEngine
import Synchronization

/// The tasks that another system sends to one path. Each request is stored like a poll that listed a part of the source (T1); one request
/// is stored at a time.
///
/// A class over a mutex, because requests share it.
final class SentTasks: Source {
    let name: String
    private let reading: ItemReading
    private let gate = FIFOGate()
    private let delivered = Mutex(Listing())
    private let poller = Mutex<Poller?>(nil)
    /// The tasks whose stored `updated` was read by another definition of that field, and says nothing about their age. Nil if unknown.
    private let incomparable = Mutex<Set<TaskKey>?>(nil)

    init(_ name: String, _ reading: ItemReading) { (self.name, self.reading) = (name, reading) }

    /// The scope of the stored tasks.
    static func scope(_ name: String) -> Scope { Scope(instance: "inbound", user: "", kind: InboundReading.kind, query: name) }

    var scope: Scope { Self.scope(name) }
    var schema: TaskSchema { reading.schema }
    /// With the number and the title: if their paths change, the scope stays the same, unlike that of other sources.
    var definitions: [String: String] {
        let paths = [Change.number: reading.number, Change.title: reading.title].mapValues { $0?.description ?? "-" }
        return schema.definitions.merging(paths) { $1 }
    }
    var hidesChanges: Bool { false }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        let listing = delivered.withLock { $0 }
        return Answer(listing: listing, coverage: .part, fingerprint: reading.fingerprint(of: listing))
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = reading.details(of: keys, in: listing, for: name)
        details.notice = nil  // The items of one request do not show which fields other items have.
        return details
    }

    /// Stores these items and the events of their changes. Throws `.giveUp` for items that can never be read.
    func take(_ items: [JSON], in context: EngineContext) async throws(Failure) {
        let listing = try rethrowing(as: { Failure($0.reason, .giveUp, $0.message) }) { () throws(Failure) in
            try reading.listing(JSON.array(items).encoded(), from: "the body")
        }
        if listing.entries.isEmpty { return }
        try checkVersions(listing)
        let result = await uncancelled { () -> Result<PollOutcome, StoreError> in
            await self.gate.enterUncancelled()
            defer { self.gate.leave() }
            do throws(StoreError) {
                let recent = try await self.recent(items, listing, in: context)
                if recent.entries.isEmpty { return .success(.unchanged) }
                self.delivered.withLock { $0 = recent }
            } catch {
                return .failure(error)
            }
            var poller =
                self.poller.withLock { $0 }
                ?? Poller(
                    self, plan: PollPlan(cadence: .every(.days(1)), emitsInitial: true, storms: StormGuard(mayHold: false)),
                    in: context)
            defer { self.poller.withLock { [poller] in $0 = poller } }
            do throws(StoreError) {
                let outcome = try await poller.pollOnce()
                if case .changed = outcome {
                    let stored = self.delivered.withLock { $0.entries.map(\.key) }
                    self.incomparable.withLock { $0?.subtract(stored) }
                }
                return .success(outcome)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(.unchanged), .success(.baseline), .success(.changed): return
        case .success(.failed(let failure)): throw failure
        case .success(.held), .success(.superseded):
            throw Failure(.interrupted, .retry(after: nil), "Another change was stored first.")
        case .failure(let error):
            context.signals.emit(.storeFailed(doing: "storing a task from outside", error))
            throw Failure(.fileSystem, .retry(after: nil), error.message)
        }
    }

    /// Throws if an item lacks the field that says how recent it is.
    private func checkVersions(_ listing: Listing) throws(Failure) {
        guard let version = reading.version else { return }
        for entry in listing.entries where reading.snapshot(of: entry, in: listing).fields[version.name]?.isNull != false {
            throw Failure(
                .badAnswer, .giveUp,
                "The task `\(entry.key.text.prefix(100))` has no `\(version.path)` of type \(version.type.rawValue), which `updated` needs."
            )
        }
    }

    /// The items that are not older than the stored states of their tasks.
    private func recent(
        _ items: [JSON], _ listing: Listing, in context: EngineContext
    ) async throws(StoreError) -> Listing {
        guard let version = reading.version else { return listing }
        let known = try await context.store.remembered(listing.entries.map(\.key), in: scope.id)
        let incomparable = try await tasks(withAnother: version, in: context)
        let kept = zip(listing.entries, items).filter { entry, _ in
            guard !incomparable.contains(entry.key), let before = known[entry.key]?.snapshot.fields[version.name],
                let now = reading.snapshot(of: entry, in: listing).fields[version.name]
            else { return true }
            return !Self.isOlder(now, than: before)
        }
        if kept.count == items.count { return listing }
        return (try? reading.listing(JSON.array(kept.map(\.1)).encoded(), from: "the body")) ?? Listing()
    }

    /// The tasks that were read before this field was redefined.
    private func tasks(
        withAnother version: TaskSchema.Field, in context: EngineContext
    ) async throws(StoreError) -> Set<TaskKey> {
        if let found = incomparable.withLock({ $0 }) { return found }
        let memory = try await context.store.open(scope, source: name, at: context.clock.now)
        let present = memory.definitions.updated(to: definitions)
        let found = Set(memory.known.filter { present.redefined(since: $0.revision).contains(version.name) }.map(\.key))
        incomparable.withLock { $0 = found }
        return found
    }

    private static func isOlder(_ value: JSON, than known: JSON) -> Bool {
        switch (value, known) {
        case (.int(let value), .int(let known)): return value < known
        case (.string(let value), .string(let known)):
            guard let value = Timestamp(rfc3339: value), let known = Timestamp(rfc3339: known) else { return false }
            return value < known
        default:
            guard let value = value.asDouble, let known = known.asDouble else { return false }
            return value < known
        }
    }
}
