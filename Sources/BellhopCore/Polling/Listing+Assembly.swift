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
