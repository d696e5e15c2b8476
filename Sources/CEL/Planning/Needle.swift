import CRE2
import Glibc

/// A constant text that others are compared with, byte by byte in place.
///
/// A class because it owns memory: the bytes have a fixed address, so a comparison neither copies nor counts references. They are
/// never written after init, hence `@unchecked`.
final class Needle: @unchecked Sendable {
    private let start: UnsafeMutablePointer<UInt8>
    private let count: Int

    init(_ text: String) {
        let bytes = Array(text.utf8)
        count = bytes.count
        start = .allocate(capacity: max(1, bytes.count))
        start.initialize(repeating: 0, count: max(1, bytes.count))
        for (offset, byte) in bytes.enumerated() { start[offset] = byte }
    }

    deinit { start.deallocate() }

    @Sendable
    func equals(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.count == count && (count == 0 || memcmp(text.baseAddress!, start, count) == 0)
    }

    @Sendable
    func isFound(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        if count == 0 { return true }
        guard text.count >= count else { return false }
        return cre2_find(text.baseAddress, text.count, start, count) >= 0
    }

    @Sendable
    func begins(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.count >= count && (count == 0 || memcmp(text.baseAddress!, start, count) == 0)
    }

    @Sendable
    func ends(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.count >= count && (count == 0 || memcmp(text.baseAddress! + (text.count - count), start, count) == 0)
    }
}
