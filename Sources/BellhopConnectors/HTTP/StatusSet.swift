import BellhopCore

/// The statuses that count as success, as in `expect:`: `204`, `2xx`, or a list of these.
struct StatusSet: Sendable, Hashable {
    private var ranges: [ClosedRange<Int>]

    static let setting = Setting(
        "expect", .list(.either([.integer(100...599), .oneOf(classes)])),
        "The statuses that mean success, such as 204 or 2xx; by default 2xx.")

    /// 200 to 299.
    static let success = StatusSet(ranges: [200...299])

    /// Only 200, the complete resource: 202 only accepts the request, 206 is a part.
    static let whole = StatusSet(ranges: [200...200])

    /// Temporary failures, whatever the body says.
    static let temporary = StatusSet(ranges: [408...408, 425...425, 429...429, 500...599])

    static let any = StatusSet(ranges: [100...999])

    private init(ranges: [ClosedRange<Int>]) { self.ranges = ranges }

    /// Nil if an element is neither a status nor a class of statuses.
    init?(_ value: JSON) {
        ranges = []
        for item in value.asArray ?? [value] {
            guard let range = Self.range(item) else { return nil }
            ranges.append(range)
        }
        if ranges.isEmpty { return nil }
    }

    /// The statuses of `expect` in a request's arguments; 2xx by default.
    static func expected(_ arguments: JSON.Object) throws(RequestArguments.Problem) -> StatusSet {
        guard let expect = arguments["expect"], !expect.isNull else { return .success }
        guard let statuses = StatusSet(expect) else {
            throw RequestArguments.Problem("expect", "`expect` lists statuses such as 204, or classes of them such as 2xx.")
        }
        return statuses
    }

    func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }

    static let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"]

    private static func range(_ value: JSON) -> ClosedRange<Int>? {
        if let text = value.asString, let place = classes.firstIndex(of: ASCII.lowercased(text)) {
            return (place + 1) * 100...(place + 1) * 100 + 99
        }
        guard let number = value.asInt.map(Int.init) ?? value.asString.flatMap({ Int($0) }), 100...599 ~= number else {
            return nil
        }
        return number...number
    }
}
