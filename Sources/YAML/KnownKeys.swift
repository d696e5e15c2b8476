/// Keys with known kinds of values, which help to correct mistakes around them.
public struct KnownKeys: Sendable, Hashable {
    /// Keys whose value is a list.
    public var lists: [String]
    /// Keys whose value is a mapping.
    public var mappings: Set<String>

    public init(lists: [String] = [], mappings: Set<String> = []) {
        self.lists = lists
        self.mappings = mappings
    }
}
