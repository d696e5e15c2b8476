import BellhopCore

/// Checks that the rows of a page match the query and are in the requested order, and finds where the next page starts.
///
/// A server drops a condition on a field that it does not know. Without this check a misspelled field would match every row.
struct RowsReading {
    private(set) var last: Walk.Place?
    private(set) var latest: Timestamp?
    private(set) var movedOn = 0
    private(set) var timeless: [TaskKey] = []
    private(set) var nameless: [String] = []
    private let walk: TableWalk
    /// A row with this time or a later one may have changed between the server's search and its reading of the row.
    private let racing: Timestamp

    /// The possible difference between the clocks of the server's nodes, and a margin for slow pages.
    private static let skew = Duration.seconds(30)

    init(_ walk: TableWalk, began: Timestamp, after place: Walk.Place?) {
        self.walk = walk
        last = place
        racing = began - Self.skew
    }

    /// The page without the rows that no longer match and those with an invalid id.
    mutating func read(_ page: Listing) throws(Failure) -> Listing {
        var leftOut: Set<TaskKey> = []
        for entry in page.entries {
            guard entry.key.isDigits else {
                nameless.append(entry.key.text)
                leftOut.insert(entry.key)
                continue
            }
            if try isLeftOut(entry, page) { leftOut.insert(entry.key) }
        }
        return leftOut.isEmpty ? page : page.without { leftOut.contains($0.key) }
    }

    private mutating func isLeftOut(_ entry: Listing.Entry, _ page: Listing) throws(Failure) -> Bool {
        let isKnown = walk.known[entry.key]?.listed == entry.fingerprint
        if isKnown, walk.order.isWhole {
            try step(to: Walk.Place(key: entry.key, time: nil))
            return false
        }
        let record = page.tape(of: entry)
        let time = record.field(walk.timeField).flatMap { Timestamp(sql: $0.raw) }
        let place = Walk.Place(key: entry.key, time: walk.order.isWhole ? nil : time)
        if !isKnown, walk.filter.judge(record.field) == .fails {
            guard let time, time >= racing else { throw ignored("a row that does not match the query") }
            movedOn += 1
            return true
        }
        guard let time else {
            timeless.append(entry.key)
            if walk.order.isWhole { try step(to: place) }
            return false
        }
        if case .window(_, _, let through) = walk.order, time > through {
            guard time >= racing else { throw ignored("a row from after the requested period") }
            movedOn += 1
            return true
        }
        latest = max(latest ?? time, time)
        try step(to: place)
        return false
    }

    private mutating func step(to place: Walk.Place) throws(Failure) {
        guard walk.order.allows(place, after: last) else { throw ignored("rows in the wrong order, or from another period") }
        last = place
    }

    private func ignored(_ what: String) -> Failure {
        Failure(
            .badAnswer, .giveUp,
            "\(walk.reader.session.base.place) answered with \(what) on \(walk.reader.table): it ignored the query or a part of it, "
                + "so the whole answer is discarded. Look for a field that the table does not have.")
    }
}

extension JSONTape {
    /// A row's field by its name in the answer; nil if the row does not have it.
    fileprivate func field(_ name: String) -> FieldValue? { FieldValue(member(name, of: root).map(value(of:))) }
}
