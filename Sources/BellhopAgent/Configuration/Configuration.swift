public import BellhopCore
public import BellhopRules
public import BellhopEngine

/// The checked contents of bellhop.yaml, with secrets inserted. Never printed.
public struct Configuration: Sendable {
    /// The file, as the user named it.
    public var file: String
    /// The folder that relative paths are relative to; empty for the current one, else ending in `/`.
    public var folder: String
    /// The SQLite file.
    public var store: String
    /// Files, folders and globs of rules, resolved against the file's folder.
    public var rules: [String]
    /// Further folders for log files, resolved against the file's folder.
    public var logFolders: [String]
    public var timeZoneName: String
    public var timeZone: TimeZoneTable
    public var secretStores: [SecretStore]
    public var connections: [ConnectionEntry]
    public var sources: [SourceEntry]
    public var retention: Retention
    public var inbound = InboundConfiguration()
    public var console = ConsoleConfiguration()
    public var telemetry = TelemetryConfiguration()
    /// The types of events, with those that the file declares.
    public var events = EventCatalogue.builtIn
    public var calendars: [CalendarEntry] = []
    /// Whether rules may run programs.
    public var allowsExec = false
    public var silences: [SilenceEntry] = []
    /// When messages to connections are kept back, by their names.
    public var quiet: [String: QuietEntry] = [:]
    /// The largest size of a delivery, in bytes.
    public var largestDelivery: Int
    /// The most keys that each rule remembers.
    public var maxKeys = RuleRegistration.maxKeys
    /// The places of connections, sources and the console in the file.
    var places = SettingPlaces()
    /// The keychain, for the project of this file.
    public var keychain: Keychain
    /// The file's text as read; nil if it did not come from a file.
    var content: [UInt8]?

    public struct ConnectionEntry: Sendable {
        public var name: String
        public var kind: String
        public var settings: Settings
        /// Whether some of its values are placeholders.
        public var hasPlaceholders = false
    }

    public struct SourceEntry: Sendable {
        public var name: String
        public var kind: String
        public var connection: String
        public var settings: Settings
        public var plan: PollPlan
        /// Whether some of its own values are placeholders.
        public var hasPlaceholders = false
    }

    public func connection(_ name: String) -> ConnectionEntry? { connections.first { $0.name == name } }
    public func source(_ name: String) -> SourceEntry? { sources.first { $0.name == name } }
    /// Where the file has a setting of the console.
    public func place(ofConsole setting: String) -> Diagnostic.Place? { places.place(of: setting, in: "console", setting: nil) }
}

/// Why bellhop.yaml cannot be used.
public enum ConfigurationError: Error, Sendable {
    /// It has mistakes (exit 78).
    case diagnostics(Diagnostics)
    /// It is missing or cannot be read (exit 78).
    case unreadable(String)
    /// A secret cannot be read (exit 78, or 75 if a later attempt may succeed).
    case secret(SecretError)
}

extension Diagnostics {
    /// Whether a later attempt may succeed without a change of the configuration: the only errors are failed commands of `secrets`, for
    /// example because a server is down.
    public var isTemporary: Bool { hasErrors && all.allSatisfy { $0.severity != .error || $0.code == "failed-secret" } }
}
