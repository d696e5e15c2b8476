extension SourceText {
    /// The offset after anchors, tags, blanks, line breaks and comments before a node.
    func skipProperties(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end {
            let byte = bytes[index]
            if byte == ASCII.ampersand {
                index += 1
                while index < end, ASCII.isWord(bytes[index]) || bytes[index] == ASCII.dash { index += 1 }
            } else if byte == ASCII.exclamation {
                while index < end, !self.byte(index).isBlankOrEnd { index += 1 }
            } else if ASCII.isSpace(byte) {
                index += 1
            } else if byte == ASCII.hash {
                while index < end, !ASCII.isBreak(bytes[index]) { index += 1 }
            } else {
                break
            }
        }
        return index
    }

    /// The first byte after blanks, line breaks and comments.
    func byteAfterSpace(_ start: Int) -> UInt8? {
        var index = start
        while let byte = byte(index) {
            if ASCII.isSpace(byte) {
                index += 1
            } else if byte == ASCII.hash, index > 0, self.byte(index - 1).isBlankOrEnd {
                while let byte = self.byte(index), !ASCII.isBreak(byte) { index += 1 }
            } else {
                return byte
            }
        }
        return nil
    }

    /// The tag before a node.
    func tagRange(before content: Position) -> SourceRange {
        var end = content.offset
        while end > markLength {
            while end > markLength, byte(end - 1).isBlankOrEnd { end -= 1 }
            var start = end
            while start > markLength, !byte(start - 1).isBlankOrEnd { start -= 1 }
            guard start < end else { break }
            if bytes[start] == ASCII.exclamation { return range(start..<end) }
            guard bytes[start] == ASCII.ampersand else { break }
            end = start
        }
        return SourceRange(content, content)
    }

    /// A block scalar's range without trailing empty lines.
    func trimmingBlankEnd(of range: SourceRange) -> SourceRange {
        var end = range.end.offset
        while end > range.start.offset, byte(end - 1).isBlankOrEnd { end -= 1 }
        return SourceRange(range.start, position(ofOffset: end))
    }

    /// 2 for CRLF, 1 for another line break, else 0.
    func breakLength(_ index: Int) -> Int {
        guard let byte = byte(index), ASCII.isBreak(byte) else { return 0 }
        return byte == ASCII.carriageReturn && self.byte(index + 1) == ASCII.newline ? 2 : 1
    }
}
