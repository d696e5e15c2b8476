/// Parses a stream of YAML 1.2 documents with the core schema. An empty stream has no documents.
///
/// Throws all errors at once, up to the first syntax error, after which libyaml cannot continue.
///
/// - Parameter keys: known keys, which help to correct mistakes around them.
public func parse(
    _ source: SourceText, limits: Limits = Limits(), keys: KnownKeys = KnownKeys()
) throws(YAMLErrors) -> [Document] {
    let outcome = compose(source, limits: limits)
    guard outcome.errors.isEmpty else {
        var finder = MistakeFinder(source, limits, keys)
        let errors = outcome.errors.map { finder.explained($0) }
        throw YAMLErrors(errors: errors.sorted { $0.position < $1.position })
    }
    return outcome.documents
}

/// Parses a stream of YAML 1.2 documents from a text.
public func parse(_ text: String, limits: Limits = Limits()) throws(YAMLErrors) -> [Document] {
    try parse(SourceText(text), limits: limits)
}

/// Documents and errors, without searching for corrections.
func compose(_ source: SourceText, limits: Limits) -> (documents: [Document], errors: [YAMLError]) {
    if let error = TextCheck(source: source, limits: limits).firstError { return ([], [error]) }
    guard source.bytes.count > source.markLength else { return ([], []) }
    return source.bytes.withUnsafeBufferPointer { bytes in
        var composer = Composer(source, limits)
        var events = EventParser(UnsafeBufferPointer(rebasing: bytes[source.markLength...]))
        composer.run(&events)
        return (composer.documents, composer.errors)
    }
}

/// Keys with known kinds of values, which help to correct mistakes around them.
public struct KnownKeys: Sendable, Hashable {
    /// Keys whose value is a list.
    public var lists: [String]
    /// Keys whose value is a mapping.
    public var mappings: Set<String>

    public init(lists: [String] = [], mappings: Set<String> = []) { (self.lists, self.mappings) = (lists, mappings) }
}

/// One document of a stream; lines of `---` separate documents.
public struct Document: Sendable {
    public let root: Node

    /// Whether nothing is written between the separators.
    public var isEmpty: Bool { root.isNull && root.range.start == root.range.end }
}

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
