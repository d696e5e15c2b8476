/// Why the store failed. The transaction had no effect.
public struct StoreError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// The disk is full or cannot be written (exit 74).
        case full
        /// Another process holds it (exit 75).
        case busy
        /// It is damaged, or not a store (exit 73).
        case damaged
        /// A newer Bellhop made it (exit 73).
        case newer
        /// It cannot be created or opened at its path (exit 73).
        case cannotOpen
        /// Its file was deleted or replaced while it was open, so its writes are lost (exit 73).
        case lost
        /// Any other database error.
        case other
    }

    public var kind: Kind
    /// One sentence: what happened, where, and what to do.
    public var message: String

    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
