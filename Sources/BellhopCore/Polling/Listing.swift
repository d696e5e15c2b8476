/// What a poll found, as cheaply as it can be known: the answer's bytes and, for each record in them, its key, its fingerprint and
/// its place, in the order of the answer. A record's values are read from the bytes when they are asked for.
///
/// A listing is whole: an answer that is cut, has another shape, lacks a key or has one twice makes none.
public struct Listing: Sendable {
    /// One record of the answer.
    public struct Entry: Sendable, Hashable {
        // In this order an entry takes 48 bytes.
        /// What tells the record from the others.
        public let key: TaskKey
        let groupIndex: UInt16
        let length: UInt32
        /// Of the record's bytes and the name of its group.
        public let fingerprint: Fingerprint
        let offset: Int

        /// Where the record stands in the answer.
        public var range: Range<Int> { offset..<offset + Int(length) }
    }

    /// The answer.
    public let body: [UInt8]
    /// The records, in the order of the answer. No two have one key.
    public let entries: [Entry]
    /// The names of the groups that the answer has, in its order; empty when it has none.
    public let groups: [String]

    /// How many bytes one record may have: a tape can hold whatever is in so many.
    static let recordLimit = 1 << 28

    /// The name of the group that an entry is in; nil when the answer has no groups.
    public func group(of entry: Entry) -> String? {
        groups.isEmpty ? nil : groups[Int(entry.groupIndex)]
    }

    /// The entries that have these keys, in the listing's order, and the keys that none has.
    public func search(for keys: [TaskKey]) -> (found: [Entry], missing: [TaskKey]) {
        guard !keys.isEmpty else { return ([], []) }
        // All of them, as of a first poll: nothing need be looked for.
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

    /// The record of an entry, for whoever wants some of its members: the others are not made.
    ///
    /// It has the record's bytes for itself: a reference to all of the answer would be counted for each value that is made, and several
    /// cores that read records would get into each other's way with it.
    public func tape(of entry: Entry) -> JSONTape {
        do {
            let bytes = body.span.extracting(entry.range).withUnsafeBufferPointer { Array($0) }
            return try JSONTape(bytes, depth: ListingShape.depthLimit)
        } catch {
            preconditionFailure("the scanner lists only what is JSON: \(error)")
        }
    }
}

extension Listing {
    /// Nothing, as of an answer that was not looked at.
    public init() { self.init(body: [], entries: [], groups: []) }

    /// Lists the records of an answer. See ``ListingShape`` for what it may look like.
    public init(_ body: [UInt8], shape: ListingShape) throws(ListingError) {
        var scanner = ListingScanner(shape: shape)
        try scanner.scan(body.span)
        self.init(body: body, entries: scanner.entries, groups: scanner.groups)
    }
}
