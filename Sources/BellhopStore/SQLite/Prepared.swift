import BellhopCore
import CSQLite

/// A prepared statement in use: parameters by name in, columns by position out. Its own functions box no value; those of
/// ``Session`` that take values do.
///
/// Parameters must be bound in the same order in each use; only the first use on a connection looks their positions up, which saves
/// 4 % of the instructions of `store.deliveries`. The statement is the connection's cached one, so there must be at most one
/// `Prepared` per text at a time.
struct Prepared: ~Copyable {
    private let statement: Database.Statement
    private let handle: OpaquePointer
    private let session: Session
    private var bound = 0
    private var isRunning = false

    init(_ sql: String, in session: Session) throws {
        statement = try session.database.statement(sql)
        handle = statement.handle
        self.session = session
    }

    deinit {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // Running.

    /// Runs a statement that returns no rows; returns how many rows it changed.
    @discardableResult
    mutating func run() throws -> Int {
        while try next() {}
        return Int(sqlite3_changes(session.database.handle))
    }

    /// Goes to the next row; false after the last one, and the statement is ready to run again.
    mutating func next() throws -> Bool {
        if !isRunning {
            try session.faults?.beforeStatement()
            isRunning = true
        }
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        isRunning = false
        bound = 0
        defer { sqlite3_reset(handle) }
        guard code == SQLITE_DONE else { throw session.database.failure() }
        return false
    }

    /// Whether there is a row.
    mutating func exists() throws -> Bool {
        defer { stop() }
        return try next()
    }

    /// Ends a run before its last row.
    mutating func stop() {
        isRunning = false
        bound = 0
        sqlite3_reset(handle)
    }

    // Binding.

    mutating func bind(_ name: StaticString, _ value: Int64?) throws {
        let place = place(name)
        try check(value.map { sqlite3_bind_int64(handle, place, $0) } ?? sqlite3_bind_null(handle, place))
    }

    mutating func bind(_ name: StaticString, _ value: Int) throws { try bind(name, Int64(value)) }

    mutating func bind(_ name: StaticString, _ value: Bool) throws { try bind(name, value ? 1 : 0 as Int64) }

    mutating func bind(_ name: StaticString, _ value: Timestamp?) throws { try bind(name, value?.microseconds) }

    mutating func bind(_ name: StaticString, _ value: String?) throws {
        let place = place(name)
        guard var value else { return try check(sqlite3_bind_null(handle, place)) }
        try check(value.withUTF8 { bytes in bytes.withMemoryRebound(to: CChar.self) { text(place, $0) } })
    }

    mutating func bind(_ name: StaticString, text bytes: [UInt8]?) throws {
        let place = place(name)
        guard let bytes else { return try check(sqlite3_bind_null(handle, place)) }
        try check(
            bytes.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { text(place, $0) }
            })
    }

    /// Binds bytes that are UTF-8 as text, and runs the statement. SQLite uses the bytes in place, without a copy.
    mutating func run(binding name: StaticString, text bytes: [UInt8]) throws {
        guard !bytes.isEmpty else {
            try bind(name, text: bytes)
            return try _ = run()
        }
        let place = place(name)
        try bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            // No pointer to the bytes may remain, not even after a failure.
            defer { sqlite3_bind_null(handle, place) }
            try check(sqlite3_bind_text(handle, place, start, Int32(bytes.count), nil))
            try run()
        }
    }

    mutating func bind(_ name: StaticString, _ value: Fingerprint?) throws {
        let place = place(name)
        guard let value else { return try check(sqlite3_bind_null(handle, place)) }
        let words = (value.high.bigEndian, value.low.bigEndian)
        try check(withUnsafeBytes(of: words) { sqlite3_bind_blob(handle, place, $0.baseAddress, 16, Self.copied) })
    }

    /// Binds a task's key as `bind(_:key:)` binds its text.
    mutating func bind(_ name: StaticString, key: TaskKey) throws {
        if let bits = key.bits { try bind(name, bits) } else { try bind(name, key.text) }
    }

    /// Binds a name: 32 hexadecimal digits as their 16 bytes, anything else as text.
    mutating func bind(_ name: StaticString, key: String) throws {
        if let packed = Fingerprint(hex: key) { try bind(name, packed) } else { try bind(name, key) }
    }

    mutating func bind(_ name: StaticString, key: String?) throws {
        if let key { try bind(name, key: key) } else { try bind(name, String?.none) }
    }

    /// Binds a lane, and its key in the index of open deliveries.
    mutating func bind(lane: String) throws {
        try bind(":lane_key", Fingerprint(content: lane).indexKey)
        try bind(":lane", lane)
    }

    // Columns of the current row, counted from 0.

    borrowing func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    borrowing func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    borrowing func time(_ column: Int32) -> Timestamp { Timestamp(microseconds: int(column)) }

    borrowing func optionalTime(_ column: Int32) -> Timestamp? { isNull(column) ? nil : time(column) }

    borrowing func text(_ column: Int32) -> String { String(decoding: buffer(column), as: UTF8.self) }

    borrowing func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    borrowing func holds(_ text: String, _ column: Int32) -> Bool { text.utf8.elementsEqual(buffer(column)) }

    borrowing func bytes(_ column: Int32) -> [UInt8] { Array(buffer(column)) }

    /// How many bytes a text has.
    borrowing func size(_ column: Int32) -> Int { Int(sqlite3_column_bytes(handle, column)) }

    borrowing func json(_ column: Int32) throws -> JSON {
        do {
            return try JSON.parse(bytes(column))
        } catch {
            throw DamagedValue("column \(column) of a row holds \(error)")
        }
    }

    /// JSON that rules or the store itself wrote.
    borrowing func json(_ column: Int32, as form: StoredForm) throws -> JSON {
        let json = try json(column)
        try form.check(json)
        return json
    }

    borrowing func fingerprint(_ column: Int32) throws -> Fingerprint {
        let bytes = buffer(column)
        guard bytes.count == 16 else { throw DamagedValue("a fingerprint has \(bytes.count) bytes instead of 16") }
        return Self.fingerprint(bytes)
    }

    borrowing func optionalFingerprint(_ column: Int32) throws -> Fingerprint? {
        isNull(column) ? nil : try fingerprint(column)
    }

    /// A name bound by `bind(_:key:)`.
    borrowing func key(_ column: Int32) -> String {
        let bytes = buffer(column)
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB, bytes.count == 16 else { return text(column) }
        return Self.fingerprint(bytes).hex
    }

    borrowing func optionalKey(_ column: Int32) -> String? { isNull(column) ? nil : key(column) }

    // The C side.

    /// Makes SQLite copy the bytes: SQLITE_TRANSIENT, a macro that Swift does not import.
    static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func text(_ place: Int32, _ bytes: UnsafeBufferPointer<CChar>) -> Int32 {
        // An empty array may have no address at all, which would mean NULL.
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_text(handle, place, "", 0, Self.copied) }
        return sqlite3_bind_text(handle, place, start, Int32(bytes.count), Self.copied)
    }

    /// The bytes of a blob or text; valid until the statement moves on.
    private borrowing func buffer(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: start == nil ? 0 : count)
    }

    private static func fingerprint(_ bytes: UnsafeBufferPointer<UInt8>) -> Fingerprint {
        let raw = UnsafeRawBufferPointer(bytes)
        return Fingerprint(
            high: UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    private mutating func place(_ name: StaticString) -> Int32 {
        defer { bound += 1 }
        if bound < statement.places.count { return statement.places[bound] }
        let place = name.withUTF8Buffer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { sqlite3_bind_parameter_index(handle, $0.baseAddress) }
        }
        precondition(place > 0, "the statement has no parameter \(name): \(statement.sql)")
        statement.places.append(place)
        return place
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw session.database.failure() }
    }
}

extension Fingerprint {
    /// The 48 bits that indexes hold. SQLite stores such an integer in six bytes.
    var indexKey: Int64 { Int64(bitPattern: low) >> 16 }
}
