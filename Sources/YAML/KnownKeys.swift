/// Keys whose values are known, so that a slip at them can be corrected: YAML itself cannot know what a value should be.
public struct KnownKeys: Sendable, Hashable {
    /// Keys that hold a list.
    public var lists: [String]
    /// Keys that hold a mapping.
    public var mappings: Set<String>

    public init(lists: [String] = [], mappings: Set<String> = []) {
        self.lists = lists
        self.mappings = mappings
    }
}
