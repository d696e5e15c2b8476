public import BellhopCore

/// Discards events and notes, for connections that send nothing.
public struct NoOpSink: EventSink, Notebook {
    public init() {}

    public func emit(_ events: [Event]) async {}
    public func retry(_ events: [Event], after error: StoreError) {}
    public func note(_ key: String) async throws -> JSON? { nil }
    public func setNote(_ key: String, to value: JSON?) async throws {}
}
