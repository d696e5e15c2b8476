import BellhopCore

/// Which rows of a table pages read, and in which order: no row is skipped even if rows change meanwhile.
enum Walk: Sendable, Hashable {
    /// All rows by sys_id, which never changes: a row that exists throughout the walk is read once.
    case whole
    /// The rows changed in a period, by time and sys_id: a row that changes again moves to the end.
    case window(field: String, from: Timestamp, through: Timestamp)

    /// The walk's position.
    struct Place: Sendable, Hashable {
        var key: TaskKey
        /// The row's time; nil if the walk does not use time.
        var time: Timestamp?
    }

    /// The query for the next page: the rows of the filter that follow a place, in the walk's order.
    func query(_ filter: EncodedQuery, after place: Place?) -> EncodedQuery {
        switch self {
        case .whole:
            var query = filter
            if let place { query = filter.and(EncodedQuery(.init("sys_id", .greater, place.key.text))) }
            query.order = [.init(field: "sys_id")]
            query.isClosed = false
            return query
        case .window(let field, let from, let through):
            let end = EncodedQuery.Condition(field, .atMost, through.sql)
            var bounds = EncodedQuery(.init(field, .atLeast, from.sql), end)
            if let place, let time = place.time?.sql {
                bounds = EncodedQuery(.init(field, .greater, time), end)
                    .or(EncodedQuery(.init(field, .equal, time), .init("sys_id", .greater, place.key.text)))
            }
            var query = filter.and(bounds)
            query.order = [.init(field: field), .init(field: "sys_id")]
            return query
        }
    }

    /// Whether a row may follow another at this position.
    func allows(_ place: Place, after last: Place?) -> Bool {
        switch self {
        case .whole: return last.map { place.key > $0.key } ?? true
        case .window(_, let from, let through):
            guard let time = place.time, time >= from, time <= through else { return false }
            guard let last, let before = last.time else { return true }
            return time > before || time == before && place.key > last.key
        }
    }

    var isWhole: Bool { self == .whole }
}
