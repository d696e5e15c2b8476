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
