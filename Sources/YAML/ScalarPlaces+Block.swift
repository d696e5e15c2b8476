/// The first line of a block scalar: `|` or `>`, an indentation digit, `-` or `+`.
struct BlockHeader {
    enum Chomping {
        case clip
        case strip
        case keep
    }

    let isFolded: Bool
    private(set) var chomping = Chomping.clip
    private(set) var digit: Int?

    /// The offset after the last indicator.
    let indicatorsEnd: Int

    /// The start of the line after the header.
    let body: Int

    init?(_ source: SourceText, _ start: Int) {
        guard let mark = source.byte(start) else { return nil }
        isFolded = mark == ASCII.greater
        var index = start + 1
        while let byte = source.byte(index), !ASCII.isSpace(byte), byte != ASCII.hash {
            switch byte {
            case ASCII.dash: chomping = .strip
            case UInt8(ascii: "+"): chomping = .keep
            case _ where ASCII.isDigit(byte): digit = Int(byte - UInt8(ascii: "0"))
            default: break
            }
            index += 1
        }
        indicatorsEnd = index
        while let byte = source.byte(index), !ASCII.isBreak(byte) { index += 1 }
        body = index + source.breakLength(index)
    }

    /// Possible indentations of the block, likeliest first. Without a digit the first line with text decides; a digit counts from
    /// the parent's indentation, which is unknown here but follows from the result.
    func candidates(_ source: SourceText) -> [Int] {
        var widest = 1
        var index = body
        while index < source.bytes.count {
            let start = index
            while source.byte(index) == ASCII.space { index += 1 }
            widest = max(widest, index - start)
            let length = source.breakLength(index)
            guard length > 0 else { break }
            index += length
        }
        guard let digit else { return [widest] }
        // The last candidate, one column more than the widest line, is for a block without text.
        return Array(digit...max(digit, widest) + 1)
    }
}

extension ScalarPlaces {
    /// Reads a block scalar whose lines are indented by `indent` spaces.
    mutating func addBlock(_ source: SourceText, _ block: BlockHeader, indent: Int) {
        var breaks: [Range<Int>] = []
        var lastBreak: Range<Int>?
        var wasBlank = false
        var (index, column) = skipBreaks(source, block.body, indent, &breaks)
        while column == indent, let first = source.byte(index) {
            let isBlank = ASCII.isBlank(first)
            if let line = lastBreak {
                if block.isFolded, !wasBlank, !isBlank {
                    if breaks.isEmpty { write([ASCII.space], for: line) }
                } else {
                    write([ASCII.newline], for: line)
                }
            }
            for line in breaks { write([ASCII.newline], for: line) }
            wasBlank = isBlank
            let start = index
            while let byte = source.byte(index), !ASCII.isBreak(byte) { index += 1 }
            copy(source, start..<index)
            let length = source.breakLength(index)
            lastBreak = length > 0 ? index..<index + length : nil
            (index, column) = skipBreaks(source, index + length, indent, &breaks)
        }
        if block.chomping != .strip, let line = lastBreak { write([ASCII.newline], for: line) }
        if block.chomping == .keep { for line in breaks { write([ASCII.newline], for: line) } }
    }

    /// Skips empty lines and the indentation of the next one.
    private func skipBreaks(
        _ source: SourceText, _ start: Int, _ indent: Int, _ breaks: inout [Range<Int>]
    ) -> (index: Int, column: Int) {
        breaks = []
        var index = start
        while true {
            var column = 0
            while column < indent, source.byte(index) == ASCII.space {
                index += 1
                column += 1
            }
            let length = source.breakLength(index)
            guard length > 0 else { return (index, column) }
            breaks.append(index..<index + length)
            index += length
        }
    }
}
