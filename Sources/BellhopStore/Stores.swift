public import BellhopCore

/// Opens stores by their addresses, which are paths of SQLite files. The one place that chooses a kind of store.
public enum Stores {
    /// Opens the store for the one process that writes it. Creates it if there is none. Upgrades a store of an older version
    /// after copying it to `PATH.schema-N`.
    ///
    /// - Throws: `.busy` when another process has it, `.newer`, `.damaged`, `.cannotOpen`, `.full`.
    public static func open(_ address: String) throws(StoreError) -> any Store { try SQLiteStore.open(path: address) }

    /// Opens the store for the one process that writes it, and waits if another process has it: a command has it for a moment.
    public static func open(_ address: String, patience: Duration) async throws(StoreError) -> any Store {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(StoreError) { return try open(address) } catch {
                guard error.kind == .busy, ContinuousClock.now < deadline,
                    (try? await Task.sleep(for: .milliseconds(20))) != nil
                else { throw error }
            }
        }
    }

    /// Opens the store for reading, whether an agent runs or not. Only methods that read work.
    public static func openForReading(_ address: String) throws(StoreError) -> any Store {
        try SQLiteStore.openForReading(path: address)
    }

    /// The process of the agent that has the store now; nil if none has it.
    public static func process(holding address: String) -> Int32? { StoreLock.process(holding: address) }

    /// A store in memory, for tests and trials.
    public static func inMemory() throws(StoreError) -> any Store { try SQLiteStore.inMemory() }

    static func inMemory(faults: StatementFaults) throws(StoreError) -> any Store { try SQLiteStore.inMemory(faults: faults) }
}
