/// Limits on the size of a text and of its content.
public struct Limits: Sendable, Hashable {
    /// Bytes of text.
    public var bytes: Int

    /// Nesting depth of lists and mappings.
    public var depth: Int

    /// Nodes with all aliases expanded. Each 256 bytes of a scalar's text count as one more.
    public var nodes: Int

    public init(bytes: Int = 4 << 20, depth: Int = 64, nodes: Int = 500_000) {
        self.bytes = min(bytes, Int(UInt32.max) - 1)
        self.depth = depth
        self.nodes = nodes
    }
}
