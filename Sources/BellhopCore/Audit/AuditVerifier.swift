/// Checks the chain of an audit, row after row.
public struct AuditVerifier: Sendable {
    /// Why an audit is not as it was written.
    public struct Problem: Error, Sendable, Hashable {
        /// One sentence.
        public var message: String

        public init(_ message: String) { self.message = message }
    }

    private let checkpoint: AuditCheckpoint?
    private var isCheckpointSeen = false
    private var anchor: AuditRow?
    /// Whether a row after the anchor says that the rows before it were removed because of their age.
    private var isAnchorExplained = false
    /// The last row that was checked.
    public private(set) var last: AuditRow?

    public init(against checkpoint: AuditCheckpoint? = nil) { self.checkpoint = checkpoint }

    /// How many rows were checked.
    public var count: Int64 { (last?.number ?? 0) - (anchor?.number ?? 0) }

    /// The number of the first row that is still kept.
    public var first: Int64 { (anchor?.number ?? 0) + 1 }

    public mutating func check(_ row: AuditRow) throws(Problem) {
        if let last { try check(row, after: last) } else { try begin(with: row) }
        if row.number == checkpoint?.number {
            guard row.hash == checkpoint?.hash else {
                throw Problem("Row \(row.number) is not the row of the checkpoint: it or rows before it were changed.")
            }
            isCheckpointSeen = true
        }
        last = row
    }

    private mutating func begin(with row: AuditRow) throws(Problem) {
        guard row.isAnchor else { throw Problem("The audit begins with row \(row.number): the rows before it were removed.") }
        guard row.number > 0 || row.hash == AuditRow.start else { throw Problem("The beginning of the audit was changed.") }
        anchor = row
        isAnchorExplained = row.number == 0
    }

    private mutating func check(_ row: AuditRow, after last: AuditRow) throws(Problem) {
        guard row.number == last.number + 1 else {
            throw Problem("After row \(last.number) comes row \(row.number): rows between them were removed.")
        }
        guard row.hash == AuditRow.hash(after: last.hash, number: row.number, entry: row.entry) else {
            throw Problem("Row \(row.number) (\(row.at.rfc3339)) was changed, or a row before it was exchanged.")
        }
        guard let entry = try? JSON.parse(Array(row.entry.utf8)), entry["time"]?.asString == row.at.rfc3339 else {
            throw Problem("The time of row \(row.number) was changed.")
        }
        if entry["act"] == "prune", entry["through"]?.asInt == anchor?.number, entry["hash"]?.asString == anchor?.hash {
            isAnchorExplained = true
        }
    }

    /// Ends the check; call it after the last row.
    public func end() throws(Problem) {
        guard let last, let anchor else { throw Problem("The audit is empty: all its rows were removed.") }
        guard isAnchorExplained else {
            throw Problem("The rows up to \(anchor.number) were removed, and not because of their age.")
        }
        guard let checkpoint, !isCheckpointSeen else { return }
        if checkpoint.number > last.number {
            throw Problem(
                "The last rows were removed: the audit ends with row \(last.number), before row \(checkpoint.number) of "
                    + "the checkpoint.")
        }
        throw Problem(
            "The checkpoint is too old: the rows up to \(anchor.number) were deleted because of their age, and row "
                + "\(checkpoint.number) is one of them. Use a newer checkpoint.")
    }
}
