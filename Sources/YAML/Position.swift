/// A place in a text: byte offset, line and column.
///
/// Lines and columns count from 1; columns count Unicode scalars, so a tab and an umlaut are one column each.
public struct Position: Sendable, Hashable, Comparable, CustomStringConvertible {
    // Compact, because every node holds two. `Limits` keeps texts below 4 GiB.
    private let storedOffset: UInt32
    private let storedLine: UInt32
    private let storedColumn: UInt32

    public init(offset: Int, line: Int, column: Int) {
        storedOffset = UInt32(clamping: offset)
        storedLine = UInt32(clamping: line)
        storedColumn = UInt32(clamping: column)
    }

    /// UTF-8 bytes before the place, including a byte order mark.
    public var offset: Int { Int(storedOffset) }

    public var line: Int { Int(storedLine) }

    public var column: Int { Int(storedColumn) }

    public static func < (one: Position, other: Position) -> Bool { one.storedOffset < other.storedOffset }

    public var description: String { "\(line):\(column)" }
}

/// A range of text from one place up to, but not including, another.
public struct SourceRange: Sendable, Hashable, CustomStringConvertible {
    public let start: Position
    public let end: Position

    public init(_ start: Position, _ end: Position) {
        self.start = start
        self.end = max(start, end)
    }

    /// The number of Unicode scalars in the range; 0 if it is empty, nil if it spans lines.
    public var columnsOnOneLine: Int? { start.line == end.line ? end.column - start.column : nil }

    public var description: String { "\(start)-\(end)" }
}
