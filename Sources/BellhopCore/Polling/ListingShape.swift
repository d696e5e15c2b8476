/// Where an answer has its records, and what identifies one.
///
/// At the path is either an array of records or an object whose members are such arrays: the groups, as in
/// `{"orders": {"Open": [{…}], "Paid": [{…}]}}`. An empty object is an empty list. Names on the path to the records,
/// and those of groups, must be unique.
public struct ListingShape: Sendable, Hashable {
    /// The path from the answer to its records.
    public var items: JSON.Path
    /// The path of names from a record to its key, which is text or a whole number.
    public var key: [String]

    /// Whether groups are allowed; otherwise only an array is.
    public var mayHaveGroups: Bool

    public init(items: JSON.Path, key: [String], mayHaveGroups: Bool = true) {
        precondition(!key.isEmpty, "a key is a member of its record")
        self.items = items
        self.key = key
        self.mayHaveGroups = mayHaveGroups
    }

    /// How deep a record may be nested.
    static let depthLimit = JSONTape.defaultDepth
}
