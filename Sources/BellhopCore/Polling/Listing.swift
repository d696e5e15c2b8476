/// The result of a poll in its cheapest form: the answer's bytes and, for each record in them, its key, its fingerprint and its
/// position, in order. A record's values are parsed on demand.
///
/// A listing is complete: an answer that is truncated, has another shape, or has missing or duplicate keys is rejected.
public struct Listing: Sendable {
    /// One record of the answer.
    public struct Entry: Sendable, Hashable {
        // In this order an entry takes 48 bytes.
        public let key: TaskKey
        let groupIndex: UInt16
        let length: UInt32
        /// Of the record's bytes and the name of its group, with the seed of the shape.
        public let fingerprint: Fingerprint
        let offset: Int

        /// The record's range in the answer.
        public var range: Range<Int> { offset..<offset + Int(length) }
    }

    public let body: [UInt8]
    /// The records, in order, with distinct keys.
    public let entries: [Entry]
    /// The names of the answer's groups, in order; empty if it has none.
    public let groups: [String]

    /// The size limit of a record in bytes, within which any record fits on a tape.
    static let recordLimit = 1 << 28

    /// The name of an entry's group; nil if the answer has no groups.
    public func group(of entry: Entry) -> String? { groups.isEmpty ? nil : groups[Int(entry.groupIndex)] }

    /// The entries with these keys, in the listing's order, and the keys without an entry.
    public func search(for keys: [TaskKey]) -> (found: [Entry], missing: [TaskKey]) {
        guard !keys.isEmpty else { return ([], []) }
        // All entries are wanted, as at a first poll: no search is needed.
        if keys.count == entries.count, zip(keys, entries).allSatisfy({ $0 == $1.key }) { return (entries, []) }
        let wanted = KnownTasks(keys.map { KnownTask(key: $0, listed: .zero) })
        var isFound = [Bool](repeating: false, count: wanted.count)
        var found: [Entry] = []
        found.reserveCapacity(keys.count)
        for entry in entries {
            guard let place = wanted.place(of: entry.key) else { continue }
            isFound[place] = true
            found.append(entry)
        }
        return (found, found.count == wanted.count ? [] : wanted.indices.filter { !isFound[$0] }.map { wanted[$0].key })
    }

    /// The record of an entry, with all its members.
    public func record(of entry: Entry) -> JSON {
        let tape = tape(of: entry)
        return tape.value(of: tape.root)
    }

    /// The record of an entry, for reading only some of its members.
    ///
    /// It copies the record's bytes: with shared bytes, each value would be reference-counted, which slows down reading records in
    /// parallel.
    public func tape(of entry: Entry) -> JSONTape {
        do {
            let bytes = body.span.extracting(entry.range).withUnsafeBufferPointer { Array($0) }
            return try JSONTape(bytes, depth: ListingShape.depthLimit)
        } catch {
            preconditionFailure("the scanner lists only valid JSON: \(error)")
        }
    }
}

extension Listing {
    /// Empty, as for an answer that was not read.
    public init() { self.init(body: [], entries: [], groups: []) }

    /// Lists the records of an answer. See ``ListingShape`` for its allowed forms.
    public init(_ body: [UInt8], shape: ListingShape) throws(ListingError) {
        var scanner = ListingScanner(shape: shape)
        try scanner.scan(body.span)
        self.init(body: body, entries: scanner.entries, groups: scanner.groups)
    }
}

/// Where an answer has its records, and what identifies one.
///
/// At the path is either an array of records or an object whose members are such arrays: the groups, as in
/// `{"orders": {"Open": [{…}], "Paid": [{…}]}}`. An empty object is an empty list. Names on the path to the records,
/// and those of groups, must be unique.
public struct ListingShape: Sendable, Hashable {
    /// The path from the answer to its records.
    public var items: JSON.Path
    /// The path of names from a record to its key, which is text or a whole number.
    public var key: [String]

    /// Whether groups are allowed; otherwise only an array is.
    public var mayHaveGroups: Bool

    /// Identifies what is read from a record: with another seed the same record counts as changed, so that it is read again.
    public var seed = Fingerprint.zero

    public init(items: JSON.Path, key: [String], mayHaveGroups: Bool = true) {
        precondition(!key.isEmpty, "a key is a member of its record")
        (self.items, self.key, self.mayHaveGroups) = (items, key, mayHaveGroups)
    }

    /// How deep a record may be nested.
    static let depthLimit = JSONTape.defaultDepth
}

/// Builds a listing from pages, each of which can be freed once it is added.
public struct ListingBuilder: Sendable {
    private var body: [UInt8] = []
    private var entries: [Listing.Entry] = []
    private var groups: [String] = []
    private var index = KeyIndex()
    private let latestCounts: Bool

    /// - Parameter latestCounts: if true, a record on two pages is used as in the later one, as when changed rows move to the
    ///   end; otherwise it is an error.
    public init(latestCounts: Bool = false) { self.latestCounts = latestCounts }

    public var listing: Listing { Listing(body: body, entries: entries, groups: groups) }

    /// Reserves room for the given totals.
    public mutating func reserve(bytes: Int, records: Int) {
        body.reserveCapacity(bytes)
        entries.reserveCapacity(records)
        index.reserveCapacity(records)
    }

    /// Adds the records of a page. An error's offset counts over all pages together.
    public mutating func add(_ page: Listing) throws(ListingError) {
        guard !page.entries.isEmpty else { return }
        guard entries.isEmpty || groups.isEmpty == page.groups.isEmpty else {
            throw ListingError(.shape(expected: "pages of one form"), at: body.count)
        }
        let base = body.count
        body += page.body
        guard body.count <= UInt32.max else { throw ListingError(.tooLarge, at: base) }
        for entry in page.entries {
            var place = 0
            if let name = page.group(of: entry) { place = self.place(ofGroup: name) }
            guard let group = UInt16(exactly: place) else { throw ListingError(.tooLarge, at: base + entry.offset) }
            try add(
                Listing.Entry(
                    key: entry.key, groupIndex: group, length: entry.length, fingerprint: entry.fingerprint,
                    offset: base + entry.offset))
        }
    }

    mutating func add(_ record: JSON, key: TaskKey) throws(ListingError) {
        let start = body.count
        record.encode(into: &body, .sorted)
        let length = body.count - start
        guard length <= Listing.recordLimit else { throw ListingError(.tooLarge, at: start) }
        let fingerprint = Fingerprint(content: body.span.extracting(start..<body.count))
        try add(Listing.Entry(key: key, groupIndex: 0, length: UInt32(length), fingerprint: fingerprint, offset: start))
    }

    private mutating func add(_ entry: Listing.Entry) throws(ListingError) {
        let twin = index.insert(entry.key.hash(index.seed), at: entries.count, unless: { entries[$0].key == entry.key })
        if let twin {
            guard latestCounts else { throw ListingError(.duplicateKey(entry.key), at: entry.offset) }
            entries[twin] = entry
            return
        }
        entries.append(entry)
    }

    private mutating func place(ofGroup name: String) -> Int {
        if let place = groups.firstIndex(of: name) { return place }
        groups.append(name)
        return groups.count - 1
    }
}

extension Listing {
    /// Joins the pages of one answer into one listing. A key on two pages is an error: rows may have moved while the pages were
    /// read. Its offset counts over all pages together.
    ///
    /// - Parameter latestCounts: if true, a duplicate record is used as in the later page, as when changed rows move to the end.
    public init(pages: [Listing], latestCounts: Bool = false) throws(ListingError) {
        if pages.count == 1 {
            self = pages[0]
            return
        }
        var builder = ListingBuilder(latestCounts: latestCounts)
        builder.reserve(
            bytes: pages.reduce(0) { $0 + $1.body.count }, records: pages.reduce(0) { $0 + $1.entries.count })
        for page in pages { try builder.add(page) }
        self = builder.listing
    }

    /// The listing without the records for which this is true.
    public func without(_ isLeftOut: (Entry) -> Bool) -> Listing {
        Listing(body: body, entries: entries.filter { !isLeftOut($0) }, groups: groups)
    }

    /// Lists records made locally, each with its key.
    public init(records: [(key: TaskKey, record: JSON)]) throws(ListingError) {
        var builder = ListingBuilder()
        builder.reserve(bytes: 0, records: records.count)
        for (key, record) in records { try builder.add(record, key: key) }
        self = builder.listing
    }
}

/// Why an answer is not a complete list of records, and where.
public struct ListingError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// The answer is not JSON; usually because it was truncated.
        case json(JSONError.Reason)
        /// There is nothing at the path to the records.
        case noRecords(path: JSON.Path)
        /// The answer has another form; the expected one is named, such as "an object".
        case shape(expected: String)
        /// A record's key is missing, empty, or neither text nor a whole number.
        case noKey(path: JSON.Path)
        /// Two records have this key.
        case duplicateKey(TaskKey)
        /// A name occurs twice, so that one would hide the other.
        case duplicateName(String)
        /// There is more than a listing can hold.
        case tooLarge
    }

    public var reason: Reason

    /// Where it is, in bytes from the start of the answer.
    public var offset: Int

    public init(_ reason: Reason, at offset: Int) { (self.reason, self.offset) = (reason, offset) }

    init(_ error: JSONError) { self.init(.json(error.reason), at: error.offset) }

    /// One sentence with the place.
    public var description: String {
        switch reason {
        case .json(let reason): JSONError(reason, at: offset).description
        case .noRecords(let path): "the answer has no '\(path)'"
        case .shape(let expected): "the answer does not have \(expected) at byte \(offset)"
        case .noKey(let path): "the record at byte \(offset) has no '\(path)'"
        case .duplicateKey(let key): "two records have the key \(key.text), the second at byte \(offset)"
        case .duplicateName(let name): "the name '\(name)' occurs twice, again at byte \(offset)"
        case .tooLarge: "the answer is too large to be listed, at byte \(offset)"
        }
    }
}
