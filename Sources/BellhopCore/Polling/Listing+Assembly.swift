extension Listing {
    /// Makes one listing of the pages of one answer. A key that is on two pages is an error, as when rows moved between them
    /// while they were read; its offset counts over all the pages together.
    ///
    /// - Parameter latestCounts: true where such a record counts as the later page has it, as when changed rows move to the end.
    public init(pages: [Listing], latestCounts: Bool = false) throws(ListingError) {
        if pages.count == 1 {
            self = pages[0]
            return
        }
        var assembly = ListingAssembly(
            bytes: pages.reduce(0) { $0 + $1.body.count }, records: pages.reduce(0) { $0 + $1.entries.count },
            latestCounts: latestCounts)
        for page in pages { try assembly.add(page) }
        self = assembly.listing
    }

    /// The listing without the records of which this is true.
    public func without(_ isLeftOut: (Entry) -> Bool) -> Listing {
        Listing(body: body, entries: entries.filter { !isLeftOut($0) }, groups: groups)
    }

    /// Lists records that were made rather than answered, each under its key.
    public init(records: [(key: TaskKey, record: JSON)]) throws(ListingError) {
        var assembly = ListingAssembly(bytes: 0, records: records.count)
        for (key, record) in records { try assembly.add(record, key: key) }
        self = assembly.listing
    }
}

/// A listing on its way from parts.
private struct ListingAssembly {
    private var body: [UInt8] = []
    private var entries: [Listing.Entry] = []
    private var groups: [String] = []
    private var index: KeyIndex
    private let latestCounts: Bool

    init(bytes: Int, records: Int, latestCounts: Bool = false) {
        self.latestCounts = latestCounts
        body.reserveCapacity(bytes)
        entries.reserveCapacity(records)
        index = KeyIndex(minimumCapacity: records)
    }

    var listing: Listing { Listing(body: body, entries: entries, groups: groups) }

    mutating func add(_ page: Listing) throws(ListingError) {
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
        let twin = index.insert(entry.key.hash, at: entries.count, unless: { entries[$0].key == entry.key })
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
