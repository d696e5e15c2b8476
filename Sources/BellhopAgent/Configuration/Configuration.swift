public import BellhopCore
public import BellhopEngine

/// What bellhop.yaml says, checked, with its secrets in place. Never printed.
public struct Configuration: Sendable {
    /// The file, as the user named it.
    public var file: String
    /// The folder that relative paths are relative to; empty for the current one, else ending in `/`.
    public var folder: String
    /// The SQLite file.
    public var store: String
    /// Files, folders and globs of rules, relative to nothing any more.
    public var rules: [String]
    /// Further folders below which log files may lie, relative to nothing any more.
    public var logFolders: [String]
    public var timeZoneName: String
    public var timeZone: TimeZoneTable
    public var secretStores: [SecretStore]
    public var connections: [ConnectionEntry]
    public var sources: [SourceEntry]
    public var retention: Retention
    /// How many bytes one delivery may have.
    public var largestDelivery: Int
    /// Where its connections and sources stand in the file.
    var places = SettingPlaces()
    /// The keychain as the file's project sees it.
    public var keychain: Keychain
    /// The file as it was read; nil where it was no file.
    var content: [UInt8]?

    public struct ConnectionEntry: Sendable {
        public var name: String
        public var kind: String
        public var settings: Settings
    }

    public struct SourceEntry: Sendable {
        public var name: String
        public var kind: String
        public var connection: String
        public var settings: Settings
        public var plan: PollPlan
    }

    public func connection(_ name: String) -> ConnectionEntry? { connections.first { $0.name == name } }
    public func source(_ name: String) -> SourceEntry? { sources.first { $0.name == name } }
}

/// Why bellhop.yaml cannot be used.
public enum ConfigurationError: Error, Sendable {
    /// It was read, and has mistakes (exit 78).
    case diagnostics(Diagnostics)
    /// It cannot be read, or is not there (exit 78).
    case unreadable(String)
    /// A secret cannot be had (exit 78).
    case secret(SecretError)
}
