/// Converts libyaml's marks, which count characters, into places, which also count bytes.
///
/// Marks come almost in order, so it continues from the last one instead of from the start of the line.
struct MarkReader {
    private let source: SourceText
    private var line = 0
    private var column = 0
    private var offset: Int

    init(_ source: SourceText) {
        self.source = source
        offset = source.markLength
    }

    mutating func position(_ mark: Mark) -> Position {
        let offset = source.isASCII ? source.markLength + mark.index : seek(mark)
        // At the end libyaml pretends that there is a line break.
        guard offset < source.bytes.count else { return source.position(ofOffset: source.bytes.count) }
        return Position(offset: offset, line: mark.line + 1, column: mark.column + 1)
    }

    private mutating func seek(_ mark: Mark) -> Int {
        if mark.line != line || mark.column < column {
            line = mark.line
            column = 0
            offset = source.lineOffsets(mark.line + 1).lowerBound
        }
        while column < mark.column, offset < source.bytes.count {
            offset += 1
            while let byte = source.byte(offset), UTF8.isContinuation(byte) { offset += 1 }
            column += 1
        }
        return offset
    }

    mutating func range(_ start: Mark, _ end: Mark) -> SourceRange { SourceRange(position(start), position(end)) }
}
