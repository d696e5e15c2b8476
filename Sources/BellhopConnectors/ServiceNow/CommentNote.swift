import BellhopCore

/// What is known of a delivery's comment beyond an attempt, kept in the notebook until the comment is proved or given up.
struct CommentNote: Sendable, Hashable {
    /// The server's time before the comment could first have been sent. No clock of ours, which may be corrected between attempts.
    var since: Timestamp?
    /// How often the server said that it is written, and it was not.
    var refusals = 0
    /// A person has let it be sent although nothing proves that it is not there.
    var decided = false

    init() {}

    init(json: JSON?) {
        since = (json?["since"]?.asInt).map { Timestamp(microseconds: $0) }
        refusals = json?["refusals"]?.asInt.flatMap { Int(exactly: $0) } ?? 0
        decided = json?["decided"] == .bool(true)
    }

    var json: JSON {
        var members: JSON.Object = [:]
        if let since { members["since"] = .int(since.microseconds) }
        if refusals > 0 { members["refusals"] = .int(Int64(refusals)) }
        if decided { members["decided"] = .bool(true) }
        return .object(members)
    }
}
