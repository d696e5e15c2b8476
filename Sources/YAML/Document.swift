/// One document of a stream; lines of `---` separate documents.
public struct Document: Sendable {
    public let root: Node

    public var source: SourceText { root.source }

    /// Whether nothing is written between the separators.
    public var isEmpty: Bool { root.isNull && root.range.start == root.range.end }
}
