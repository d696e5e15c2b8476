import Crypto

/// A row of the audit: an attempt that ended, or a person's act. Its hash covers the hash of the row before it.
public struct AuditRow: Sendable, Hashable {
    /// Counts the rows, without gaps.
    public var number: Int64
    public var at: Timestamp
    /// A JSON object, as it was hashed. Empty in the oldest row, of which pruning has left only the hash.
    public var entry: String
    /// 64 hexadecimal digits.
    public var hash: String

    public init(number: Int64, at: Timestamp, entry: String, hash: String) {
        (self.number, self.at, self.entry, self.hash) = (number, at, entry, hash)
    }

    /// Whether the chain begins with this row.
    public var isAnchor: Bool { entry.isEmpty }

    /// The hash before the first row.
    public static let start = String(repeating: "0", count: 64)

    /// The SHA-256 (FIPS 180-4) of the hash before, the number and the entry, separated by line feeds.
    public static func hash(after previous: String, number: Int64, entry: String) -> String {
        var hash = SHA256()
        for part in [previous, "\n\(number)\n", entry] {
            var part = part
            part.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        }
        return Hexadecimal.text(hash.finalize())
    }
}

extension AuditRow {
    public var json: JSON {
        ["number": .int(number), "at": .int(at.microseconds), "entry": .string(entry), "hash": .string(hash)]
    }

    /// Reads the form of `json`; nil for anything else.
    public init?(json: JSON) {
        guard let number = json["number"]?.asInt, let at = json["at"]?.asInt, let entry = json["entry"]?.asString,
            let hash = json["hash"]?.asString
        else { return nil }
        self.init(number: number, at: Timestamp(microseconds: at), entry: entry, hash: hash)
    }
}

/// The last row of an audit at some time. Kept outside the store, it reveals that rows were changed or removed.
public struct AuditCheckpoint: Sendable, Hashable {
    public var number: Int64
    public var hash: String

    public init(_ row: AuditRow) {
        number = row.number
        hash = row.hash
    }

    /// `NUMBER:HASH`.
    public var text: String { "\(number):\(hash)" }

    /// Reads the form of `text`; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number >= 0, parts[1].utf8.count == 64,
            parts[1].utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 &- UInt8(ascii: "a") < 6 })
        else { return nil }
        self.number = number
        hash = String(parts[1])
    }
}

/// Selects rows of the audit, oldest first.
public struct AuditQuery: Sendable, Hashable {
    /// Only those after this number; nil from the first row on, the anchor included.
    public var after: Int64?
    /// Only those from this moment on.
    public var since: Timestamp?
    /// Only the last row.
    public var isLast: Bool
    /// Only acts: most rows are attempts of deliveries.
    public var onlyActs: Bool
    public var limit: Int

    public init(
        after: Int64? = nil, since: Timestamp? = nil, isLast: Bool = false, onlyActs: Bool = false, limit: Int = .max
    ) {
        (self.after, self.since, self.isLast, self.onlyActs, self.limit) = (after, since, isLast, onlyActs, limit)
    }
}

/// The name of an act in the audit.
public enum AuditAct: String, Sendable, Hashable, CaseIterable {
    case retry, drop, edit, pause, resume, forget, replay
    /// Changed rules are in force.
    case reload
    /// The oldest rows of the audit were removed.
    case prune
    case addSilence = "silence add"
    case endSilence = "silence end"
    case addToken = "console token add"
    case removeToken = "console token remove"
    /// A rule file was changed or made in the console.
    case editRules = "edit rules"
    case addRules = "add rules"

    public init(_ command: DeliveryCommand) {
        switch command {
        case .retry: self = .retry
        case .drop: self = .drop
        }
    }
}

/// The name of an attempt's outcome in the audit.
public enum AttemptOutcome: String, Sendable, Hashable, CaseIterable {
    case done, retry, postponed, paused, dead, held
    /// The agent ended before the attempt did.
    case interrupted
}
