import BellhopCore

/// What is known about a delivery's response across attempts, kept in the notebook until proved or given up.
struct TouchPointNote: Sendable, Hashable {
    /// The responses that existed before it could first have been sent; nil if they could not be read.
    var before: Before?
    /// A person allowed sending it although nothing proves that it is not there.
    var decided = false
    /// Whether it may have been sent.
    var isSent = false

    enum Before: Sendable, Hashable {
        case these(Set<Int64>)
        /// Too many to list: all up to this one.
        case upTo(Int64)

        init(_ responses: [TouchPointResponse]) {
            let ids = Set(responses.compactMap { $0.id.flatMap { Int64($0) } })
            self = ids.count > 1000 ? .upTo(ids.max() ?? 0) : .these(ids)
        }

        func contains(_ id: String) -> Bool {
            guard let number = Int64(id) else { return false }
            return switch self {
            case .these(let ids): ids.contains(number)
            case .upTo(let last): number <= last
            }
        }
    }

    init() {}

    init(json: JSON?) {
        if let ids = json?["before"]?.asArray { before = .these(Set(ids.compactMap(\.asInt))) }
        if let last = json?["up_to"]?.asInt { before = .upTo(last) }
        decided = json?["decided"] == .bool(true)
        isSent = json?["sent"] == .bool(true)
    }

    var json: JSON {
        var members: JSON.Object = [:]
        switch before {
        case .these(let ids)?: members["before"] = .array(ids.sorted().map { .int($0) })
        case .upTo(let last)?: members["up_to"] = .int(last)
        case nil: break
        }
        if decided { members["decided"] = .bool(true) }
        if isSent { members["sent"] = .bool(true) }
        return .object(members)
    }
}
