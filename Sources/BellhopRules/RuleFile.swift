/// A rule file as read.
public struct RuleFile: Sendable, Hashable {
    /// The path as diagnostics show it.
    public var path: String
    public var bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// True for test files, which contain no rules.
    public var isTest: Bool { path.hasSuffix(".test.yaml") || path.hasSuffix(".test.yml") }
}
