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
        var builder = ListingBuilder(latestCounts: latestCounts)
        builder.reserve(
            bytes: pages.reduce(0) { $0 + $1.body.count }, records: pages.reduce(0) { $0 + $1.entries.count })
        for page in pages { try builder.add(page) }
        self = builder.listing
    }

    /// The listing without the records of which this is true.
    public func without(_ isLeftOut: (Entry) -> Bool) -> Listing {
        Listing(body: body, entries: entries.filter { !isLeftOut($0) }, groups: groups)
    }

    /// Lists records that were made rather than answered, each under its key.
    public init(records: [(key: TaskKey, record: JSON)]) throws(ListingError) {
        var builder = ListingBuilder()
        builder.reserve(bytes: 0, records: records.count)
        for (key, record) in records { try builder.add(record, key: key) }
        self = builder.listing
    }
}
