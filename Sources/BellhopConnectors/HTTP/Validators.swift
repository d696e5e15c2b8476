import BellhopCore

/// What tells a server which answer we have already (RFC 9110, section 13): with it, an answer that would be the same is a 304.
struct Validators: Sendable, Hashable {
    var tag: String?
    var modified: String?

    init() {}

    /// Those of an answer.
    ///
    /// A date alone counts only where the answer is some seconds younger: what changes again within the same second keeps its date
    /// (RFC 9110, section 8.8.2.2).
    init(_ headers: HeaderFields) {
        tag = headers["ETag"]
        guard let date = headers["Last-Modified"], let changed = Timestamp(httpDate: date) else { return }
        let isOld = headers["Date"].flatMap { Timestamp(httpDate: $0) }.map { $0 - changed >= Self.certain } ?? false
        if tag != nil || isOld { modified = date }
    }

    private static let certain = Duration.seconds(5)

    /// Those that a poll kept.
    init(_ cursor: Cursor?) {
        tag = cursor?.value["etag"]?.asString
        modified = cursor?.value["modified"]?.asString
    }

    /// What a request says of them.
    var headers: HeaderFields {
        var headers: HeaderFields = [:]
        if let tag { headers["If-None-Match"] = tag }
        if let modified { headers["If-Modified-Since"] = modified }
        return headers
    }

    /// As a poll keeps them.
    var members: JSON.Object {
        var members: JSON.Object = [:]
        if let tag { members["etag"] = .string(tag) }
        if let modified { members["modified"] = .string(modified) }
        return members
    }

    /// Nil where there are none.
    var cursor: Cursor? { members.isEmpty ? nil : Cursor(.object(members)) }
}
