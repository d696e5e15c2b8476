/// The bytes of a file and the table of its lines.
///
/// A class so that each node can cheaply refer to its text; it never changes.
public final class SourceText: Sendable {
    /// All bytes as received, including a byte order mark and invalid UTF-8.
    public let bytes: [UInt8]

    let isASCII: Bool

    /// 3 if the text begins with UTF-8's byte order mark, else 0.
    let markLength: Int

    /// Where each line begins. LF, CR and CRLF end a line (YAML 1.2.2, 5.4).
    private let lineStarts: [UInt32]

    public init(_ bytes: [UInt8]) {
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var starts = [UInt32(mark)]
        var union: UInt8 = 0
        bytes.withUnsafeBufferPointer { bytes in
            var index = mark
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                union |= byte
                if byte == ASCII.newline
                    || (byte == ASCII.carriageReturn && (index == bytes.count || bytes[index] != ASCII.newline))
                {
                    starts.append(UInt32(clamping: index))
                }
            }
        }
        self.bytes = bytes
        markLength = mark
        isASCII = union < 0x80
        lineStarts = starts
    }

    public convenience init(_ text: String) { self.init(Array(text.utf8)) }

    /// The number of lines; a final line break begins one more, empty line.
    public var lineCount: Int { lineStarts.count }

    /// The place of a byte. Offsets outside the text are clamped.
    public func position(ofOffset offset: Int) -> Position {
        let offset = min(max(offset, markLength), bytes.count)
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        let start = Int(lineStarts[low])
        let column = isASCII ? offset - start : bytes[start..<offset].count { !UTF8.isContinuation($0) }
        return Position(offset: offset, line: low + 1, column: column + 1)
    }

    /// The range between two byte offsets.
    public func range(_ offsets: Range<Int>) -> SourceRange {
        SourceRange(position(ofOffset: offsets.lowerBound), position(ofOffset: offsets.upperBound))
    }

    /// A line's text without its break; empty if there is no such line. Invalid UTF-8 becomes U+FFFD.
    public func line(_ number: Int) -> String { text(lineOffsets(number)) }

    public func text(in range: SourceRange) -> String {
        let end = min(range.end.offset, bytes.count)
        return text(min(range.start.offset, end)..<end)
    }

    func text(_ offsets: Range<Int>) -> String { String(decoding: bytes[offsets], as: UTF8.self) }

    /// The offsets of a line, without its break.
    func lineOffsets(_ number: Int) -> Range<Int> {
        guard number >= 1, number <= lineStarts.count else { return bytes.count..<bytes.count }
        let start = Int(lineStarts[number - 1])
        var end = number < lineStarts.count ? Int(lineStarts[number]) : bytes.count
        if end > start, bytes[end - 1] == ASCII.newline { end -= 1 }
        if end > start, bytes[end - 1] == ASCII.carriageReturn { end -= 1 }
        return start..<end
    }

    /// The byte at an offset, or nil beyond the end.
    func byte(_ offset: Int) -> UInt8? { offset >= 0 && offset < bytes.count ? bytes[offset] : nil }
}
