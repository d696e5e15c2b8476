/// Where an answer has its records, and what tells one from another.
///
/// At the path stands either an array of records or an object whose members are such arrays: the groups, as in
/// `{"result": {"Incident": [{…}], "Catalog Task": [{…}]}}`. An empty object is an empty list. Names on the way to the records, and
/// those of groups, must not be repeated.
public struct ListingShape: Sendable, Hashable {
    /// The way from the answer to its records.
    public var items: JSON.Path
    /// The way from a record to its key, over names; the key is text or a whole number.
    public var key: [String]

    /// Whether groups may stand there; otherwise it is an array or an error.
    public var mayHaveGroups: Bool

    public init(items: JSON.Path, key: [String], mayHaveGroups: Bool = true) {
        precondition(!key.isEmpty, "a key is a member of its record")
        self.items = items
        self.key = key
        self.mayHaveGroups = mayHaveGroups
    }

    /// What the Task Tracker and the Table API answer: `result`, and `sys_id` in each record.
    public static let serviceNow = ListingShape(items: JSON.Path(keys: ["result"]), key: ["sys_id"])

    /// How deep a record may be nested.
    static let depthLimit = JSONTape.defaultDepth
}
