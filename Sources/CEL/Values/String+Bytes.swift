import CRE2
import Glibc

/// Text as UTF-8 bytes: Swift's own `==`, `<` and `contains` use canonical equivalence, which the language does not, and cost
/// many times more.
extension String {
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(utf8).withUnsafeBufferPointer(body)
    }

    @inline(__always)
    func hasSameBytes(as other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        return withBytes { a in other.withBytes { b in count == 0 || memcmp(a.baseAddress!, b.baseAddress!, count) == 0 } }
    }

    func compareBytes(with other: String) -> Int {
        withBytes { a in
            other.withBytes { b in
                let common = Swift.min(a.count, b.count)
                let difference = common == 0 ? 0 : Int(memcmp(a.baseAddress!, b.baseAddress!, common))
                return difference != 0 ? difference : a.count - b.count
            }
        }
    }

    func hashBytes(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) } }

    @inline(__always)
    func containsBytes(of other: String) -> Bool { firstByteOffset(of: other) != nil }

    /// The offset in bytes of the first occurrence at or after `start`.
    func firstByteOffset(of other: String, from start: Int = 0) -> Int? {
        withBytes { text in
            other.withBytes { needle in
                guard start <= text.count else { return nil }
                guard let wanted = needle.baseAddress, needle.count > 0 else { return start }
                guard let base = text.baseAddress else { return nil }
                let found = cre2_find(base + start, text.count - start, wanted, needle.count)
                return found < 0 ? nil : found + start
            }
        }
    }

    func hasBytePrefix(_ other: String) -> Bool {
        withBytes { a in
            other.withBytes { b in
                b.count <= a.count && (b.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, b.count) == 0)
            }
        }
    }

    func hasByteSuffix(_ other: String) -> Bool {
        withBytes { a in
            other.withBytes { b in
                b.count <= a.count && (b.count == 0 || memcmp(a.baseAddress! + (a.count - b.count), b.baseAddress!, b.count) == 0)
            }
        }
    }

    var codePoints: Int {
        withBytes { bytes in
            var count = 0
            for byte in bytes where byte & 0xC0 != 0x80 { count += 1 }
            return count
        }
    }

    /// The text of a range of its bytes that begins and ends between code points.
    func slice(_ range: Range<Int>) -> String {
        let bytes = utf8
        let start = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
        return String(self[start..<bytes.index(start, offsetBy: range.count)])
    }
}

extension String {
    /// The byte offset of a code point by its index; the end for the index after the last, nil beyond.
    func byteOffset(ofCodePoint index: Int64) -> Int? {
        withBytes { bytes in
            var left = index
            for (offset, byte) in bytes.enumerated() where byte & 0xC0 != 0x80 {
                if left == 0 { return offset }
                left -= 1
            }
            return left == 0 ? bytes.count : nil
        }
    }

    /// The offset after the code point at an offset; at most the end.
    func nextCodePoint(after offset: Int) -> Int {
        withBytes { bytes in
            var next = Swift.min(offset + 1, bytes.count)
            while next < bytes.count, bytes[next] & 0xC0 == 0x80 { next += 1 }
            return next
        }
    }

    /// The byte offset of the last occurrence that begins at or before an offset.
    func lastByteOffset(of other: String, atMost limit: Int) -> Int? {
        withBytes { text in
            other.withBytes { needle in
                var at = Swift.min(limit, text.count - needle.count)
                while at >= 0 {
                    if needle.isEmpty || memcmp(text.baseAddress! + at, needle.baseAddress!, needle.count) == 0 { return at }
                    at -= 1
                }
                return nil
            }
        }
    }

    /// The text with each ASCII byte mapped to another.
    func mappingBytes(_ change: (UInt8) -> UInt8) -> String { String(decoding: utf8.map(change), as: UTF8.self) }
}
