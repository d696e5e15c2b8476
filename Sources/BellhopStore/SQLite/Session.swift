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

    /// Runs a statement without parameters that returns no rows.
    func run(_ sql: String) throws { try run(sql) { _ in } }

    /// Runs a statement that returns no rows; returns how many rows it changed.
    ///
    /// - Parameter bind: binds the parameters.
    @discardableResult
    func run(_ sql: String, _ bind: (inout Prepared) throws -> Void) throws -> Int {
        var statement = try prepare(sql)
        try bind(&statement)
        return try statement.run()
    }

    /// Reads the rows of a query, except those for which `read` returns nil.
    func rows<Row>(
        _ sql: String, _ bind: (inout Prepared) throws -> Void = { _ in }, read: (borrowing Prepared) throws -> Row?
    ) throws -> [Row] {
        var statement = try prepare(sql)
        try bind(&statement)
        var rows: [Row] = []
        while try statement.next() { if let row = try read(statement) { rows.append(row) } }
        return rows
    }

    /// The first column of the first row.
    func int(_ sql: String) throws -> Int64 {
        var statement = try prepare(sql)
        return try statement.next() ? statement.int(0) : 0
    }
}
