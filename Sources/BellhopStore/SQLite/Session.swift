import BellhopCore

/// A connection during one access; runs the statements of a transaction.
struct Session {
    let database: Database
    /// Makes statements fail, in tests; nil otherwise.
    var faults: StatementFaults?

    init(_ database: Database, faults: StatementFaults? = nil) {
        self.database = database
        self.faults = faults
    }

    /// The cached statement with this text.
    func prepare(_ sql: String) throws -> Prepared { try Prepared(sql, in: self) }

    /// Runs a statement without parameters.
    func run(_ sql: String) throws {
        var statement = try prepare(sql)
        try statement.run()
    }

    /// The first column of the first row.
    func int(_ sql: String) throws -> Int64 {
        var statement = try prepare(sql)
        return try statement.next() ? statement.int(0) : 0
    }

    /// Whether a transaction is open. If the disk is full, SQLite itself ends it.
    var isInTransaction: Bool { database.isInTransaction }
}
