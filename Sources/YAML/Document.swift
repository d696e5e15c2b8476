/// One document of a stream, whose documents are divided by lines of `---`.
public struct Document: Sendable {
    public let root: Node

    public var source: SourceText { root.source }

    /// Whether nothing at all is written between the dividing lines.
    public var isEmpty: Bool { root.isNull && root.range.start == root.range.end }
}
