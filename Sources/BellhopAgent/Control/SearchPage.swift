public import BellhopCore
public import BellhopRules

/// One page of a search.
public struct SearchPage: Sendable, Hashable {
    /// The newest first.
    public var rows: [JSON]
    /// The place before which the next page continues; nil at the end.
    public var next: Int64?
    /// How many events or deliveries were read for it.
    public var seen: Int
    public var failures: SearchFailures

    public init(rows: [JSON] = [], next: Int64? = nil, seen: Int = 0, failures: SearchFailures = .init()) {
        (self.rows, self.next, self.seen, self.failures) = (rows, next, seen, failures)
    }

    /// The page as the API answers it.
    ///
    /// - Parameter name: the member with the rows.
    public func json(_ name: String) -> JSON {
        [name: .array(rows), "next": next.map(JSON.int) ?? .null, "seen": .int(Int64(seen)), "failed": failures.json]
    }

    /// Reads ``json(_:)``; nil for anything else.
    public init?(json: JSON, _ name: String) {
        guard let rows = json[name]?.asArray, rows.allSatisfy({ $0["id"]?.asString?.isEmpty == false }),
            let next = json["next"], next.isNull || next.asInt != nil,
            let seen = json["seen"]?.asInt.flatMap({ Int(exactly: $0) })
        else { return nil }
        self.init(rows: rows, next: next.asInt, seen: seen, failures: SearchFailures(json: json["failed"]))
    }
}
