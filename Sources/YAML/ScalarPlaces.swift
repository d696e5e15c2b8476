/// Maps the characters of a scalar's value to their places in the text.
///
/// It reads the scalar as libyaml does (0.2.5, `yaml_parser_scan_*_scalar`), but records places instead of characters.
struct ScalarPlaces {
    /// Bytes of the value from one range of text. If the lengths differ, it is an escape or a fold.
    struct Piece {
        let value: Int
        let length: Int
        let source: Int
    }

    private(set) var pieces: [Piece] = []

    /// Bytes of the value.
    private(set) var length = 0

    /// Where the value's last character ends.
    private(set) var end: Int

    /// The reconstructed value, for choosing a block's indentation.
    private(set) var bytes: [UInt8] = []

    init(_ scalar: Scalar, _ range: SourceRange, in source: SourceText) {
        end = range.start.offset
        switch scalar.style {
        case .plain: addFlow(source, range.start.offset..<range.end.offset, .plain)
        case .singleQuoted, .doubleQuoted:
            end += 1
            addFlow(source, range.start.offset + 1..<range.end.offset - 1, scalar.style)
        case .literal, .folded:
            guard let block = BlockHeader(source, range.start.offset) else { return }
            for indent in block.candidates(source) {
                pieces = []
                bytes = []
                length = 0
                end = block.body
                addBlock(source, block, indent: indent)
                if bytes == Array(scalar.text.utf8) { return }
            }
        }
    }

    /// The text offset of a byte of the value; after the last byte, the value's end.
    func offset(of value: Int) -> Int {
        guard value < length else { return end }
        var low = 0
        var high = pieces.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if pieces[middle].value <= value { low = middle } else { high = middle }
        }
        return pieces[low].source + (pieces[low].length == 0 ? 0 : max(0, value - pieces[low].value))
    }

    /// The end of the character that a byte of the value belongs to.
    fileprivate func end(of value: Int, in source: SourceText) -> Int {
        guard value + 1 < length else { return end }
        let start = offset(of: value)
        let next = offset(of: value + 1)
        // Within a copied range the next byte follows at once; otherwise the text between belongs to an escape or a new line.
        var index = start
        while index < next, let byte = source.byte(index), !ASCII.isBreak(byte) { index += 1 }
        return index == start ? next : index
    }

    /// Bytes copied unchanged from the text.
    mutating func copy(_ source: SourceText, _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if let last = pieces.last, last.source + last.length == range.lowerBound, last.value + last.length == length,
            last.length > 0
        {
            pieces[pieces.count - 1] = Piece(value: last.value, length: last.length + range.count, source: last.source)
        } else {
            pieces.append(Piece(value: length, length: range.count, source: range.lowerBound))
        }
        bytes += source.bytes[range]
        length += range.count
        end = range.upperBound
    }

    /// Bytes written differently in the text: an escape, a doubled quote, a fold.
    mutating func write(_ text: [UInt8], for range: Range<Int>) {
        pieces.append(Piece(value: length, length: 0, source: range.lowerBound))
        bytes += text
        length += text.count
        end = range.upperBound
    }
}

extension Node {
    /// The place in the file of a range of a scalar's text, accounting for escapes, folded lines and a block's indentation. After the
    /// text's end, the place where it ends; for lists and mappings, the whole.
    public func range(ofUTF8 offsets: Range<Int>) -> SourceRange {
        guard let scalar else { return range }
        let places = ScalarPlaces(scalar, range, in: source)
        let start = places.offset(of: offsets.lowerBound)
        // The range ends after its last character. This excludes a line fold or a block's indentation after that character.
        let end = offsets.isEmpty ? start : places.end(of: offsets.upperBound - 1, in: source)
        return source.range(start..<max(start, end))
    }
}
