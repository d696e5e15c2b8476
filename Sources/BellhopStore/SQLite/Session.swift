import BellhopCore

/// A connection during one access; runs the statements of a transaction.
struct Session {
    let database: Database
    /// Makes statements fail, in tests; nil otherwise.
    let faults: StatementFaults?

    init(_ database: Database, faults: StatementFaults? = nil) { (self.database, self.faults) = (database, faults) }

    /// The cached statement with this text.
    func prepare(_ sql: String) throws -> Prepared { try Prepared(sql, in: self) }

    /// The cached statement with this text, and with the values of its first parameters.
    func prepare(_ sql: String, _ values: (StaticString, any Bindable)...) throws -> Prepared { try prepare(sql, values) }

    private func prepare(_ sql: String, _ values: [(StaticString, any Bindable)]) throws -> Prepared {
        var statement = try prepare(sql)
        for (name, value) in values { try value.bind(to: &statement, as: name) }
        return statement
    }

    /// Runs a statement that returns no rows, with the values of its parameters; returns how many rows it changed.
    @discardableResult
    func run(_ sql: String, _ values: (StaticString, any Bindable)...) throws -> Int {
        var statement = try prepare(sql, values)
        return try statement.run()
    }

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
        _ sql: String, _ values: (StaticString, any Bindable)..., read: (borrowing Prepared) throws -> Row?
    ) throws -> [Row] {
        var statement = try prepare(sql, values)
        var rows: [Row] = []
        while try statement.next() { if let row = try read(statement) { rows.append(row) } }
        return rows
    }

    /// Whether a query has a row.
    func exists(_ sql: String, _ values: (StaticString, any Bindable)...) throws -> Bool {
        var statement = try prepare(sql, values)
        return try statement.exists()
    }

    /// The first column of the first row.
    func int(_ sql: String) throws -> Int64 {
        var statement = try prepare(sql)
        return try statement.next() ? statement.int(0) : 0
    }
}

/// A value of a statement's parameter, in a box: often used statements bind their values with ``Prepared`` itself.
protocol Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws
}

extension Int: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

extension Int64: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

extension Bool: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

extension String: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

extension Timestamp: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

extension Fingerprint: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, self) }
}

/// A name, bound as ``Prepared/bind(_:key:)`` binds it.
struct PackedName: Bindable {
    let name: String

    init(_ name: String) { self.name = name }

    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, key: self.name) }
}

/// The UTF-8 of a text, bound as text. No statement binds bytes as a blob in this way.
extension [UInt8]: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws { try statement.bind(name, text: self) }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to statement: inout Prepared, as name: StaticString) throws {
        if let self { try self.bind(to: &statement, as: name) } else { try statement.bind(name, nil as Int64?) }
    }
}
