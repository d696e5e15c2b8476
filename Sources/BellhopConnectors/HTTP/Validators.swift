import BellhopCore

/// Identify the known answer, so that a server answers 304 if it has not changed (RFC 9110, section 13).
struct Validators: Sendable, Hashable {
    var tag: String?
    var modified: String?

    init() {}

    /// Reads those of an answer.
    ///
    /// A date alone counts only if the answer is some seconds newer: a second change within the same second would not change the
    /// date (RFC 9110, section 8.8.2.2).
    init(_ headers: HeaderFields) {
        tag = headers["ETag"]
        guard let date = headers["Last-Modified"], let changed = Timestamp(httpDate: date) else { return }
        let isOld = headers["Date"].flatMap { Timestamp(httpDate: $0) }.map { $0 - changed >= Self.certain } ?? false
        if tag != nil || isOld { modified = date }
    }

    private static let certain = Duration.seconds(5)

    /// Reads those saved by a poll.
    init(_ cursor: Cursor?) {
        tag = cursor?.value["etag"]?.asString
        modified = cursor?.value["modified"]?.asString
    }

    var headers: HeaderFields {
        var headers: HeaderFields = [:]
        if let tag { headers["If-None-Match"] = tag }
        if let modified { headers["If-Modified-Since"] = modified }
        return headers
    }

    /// The form in which a poll saves them.
    var members: JSON.Object {
        var members: JSON.Object = [:]
        if let tag { members["etag"] = .string(tag) }
        if let modified { members["modified"] = .string(modified) }
        return members
    }

    /// Nil if there are none.
    var cursor: Cursor? { members.isEmpty ? nil : Cursor(.object(members)) }
}
