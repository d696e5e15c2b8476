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
        /// Of the record's bytes and the name of its group.
        public let fingerprint: Fingerprint
        let offset: Int

        /// The record's range in the answer.
        public var range: Range<Int> { offset..<offset + Int(length) }
    }

    /// The answer.
    public let body: [UInt8]
    /// The records, in order, with distinct keys.
    public let entries: [Entry]
    /// The names of the answer's groups, in order; empty if it has none.
    public let groups: [String]

    /// The size limit of a record in bytes, within which any record fits on a tape.
    static let recordLimit = 1 << 28

    /// The name of an entry's group; nil if the answer has no groups.
    public func group(of entry: Entry) -> String? {
        groups.isEmpty ? nil : groups[Int(entry.groupIndex)]
    }

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
