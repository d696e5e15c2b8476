/// An address of version 4 or 6, as a value of the language.
///
/// A version 4 address that is mapped into version 6 (`::ffff:0:0/96`) is that version 4 address, however it is written.
final class IPAddress: HostObject {
    /// Four or sixteen bytes.
    let bytes: [UInt8]
    /// Whether the text was an IPv4 address inside an IPv6 one, such as `::ffff:10.0.0.1`.
    let isDottedMapped: Bool

    init(bytes: [UInt8], isDottedMapped: Bool = false) {
        self.bytes = Self.isMapped(bytes) ? Array(bytes[12...]) : bytes
        self.isDottedMapped = isDottedMapped
    }

    /// Reads the forms of RFC 4291 §2.2 and dotted decimals without leading zeros.
    convenience init?(_ text: String) {
        guard let (bytes, dotted) = Self.bytes(of: text) else { return nil }
        self.init(bytes: bytes, isDottedMapped: dotted && Self.isMapped(bytes))
    }

    /// The bytes of a text as it is written, and whether it ends with dotted decimals in version 6.
    static func bytes(of text: String) -> (bytes: [UInt8], dotted: Bool)? {
        text.utf8.contains(UInt8(ascii: ":")) ? version6(text) : version4(text[...]).map { ($0, false) }
    }

    var celType: CELType { Network.ipType }
    func value(named name: String) -> Value? { nil }
    func isEqual(to other: any HostObject) -> Bool { (other as? IPAddress)?.bytes == bytes }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    var isV4: Bool { bytes.count == 4 }
    var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }
    var isLoopback: Bool { isV4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1 }
    var isMulticast: Bool { isV4 ? bytes[0] & 0xF0 == 224 : bytes[0] == 0xFF }
    var isLinkLocalMulticast: Bool {
        isV4 ? bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0 : bytes[0] == 0xFF && bytes[1] & 0x0F == 2
    }
    var isLinkLocalUnicast: Bool { isV4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }
    var isGlobalUnicast: Bool {
        !(isUnspecified || isMulticast || isLoopback || isLinkLocalUnicast || (isV4 && bytes.allSatisfy { $0 == 255 }))
    }

    /// The canonical text (RFC 5952).
    var text: String? { Self.text(of: bytes) }

    static func text(of bytes: [UInt8]) -> String {
        if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        // The longest run of two zero groups or more, the first of equal ones, becomes `::`.
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(1, best.count) { best = start..<end }
            start = max(end, start + 1)
        }
        let hex = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
        return best.isEmpty ? hex(groups[...]) : hex(groups[..<best.lowerBound]) + "::" + hex(groups[best.upperBound...])
    }

    static func isMapped(_ bytes: [UInt8]) -> Bool {
        bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    }

    private static func version4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part -> UInt8? in
            guard part.utf8.allSatisfy(\.isDigit), part == "0" || part.first != "0" else { return nil }
            return UInt8(part)
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: String) -> (bytes: [UInt8], dotted: Bool)? {
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return nil }
        var sides: [[UInt8]] = []
        var dotted = false
        for (index, half) in halves.enumerated() {
            var bytes: [UInt8] = []
            let groups = half.isEmpty ? [] : half.split(separator: ":", omittingEmptySubsequences: false)
            for (place, group) in groups.enumerated() {
                if group.contains("."), index == halves.count - 1, place == groups.count - 1 {
                    guard let four = version4(group) else { return nil }
                    bytes += four
                    dotted = true
                } else {
                    guard (1...4).contains(group.utf8.count), group.utf8.allSatisfy({ $0.hexadecimalDigit != nil }),
                        let number = UInt16(group, radix: 16)
                    else { return nil }
                    bytes += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
                }
            }
            sides.append(bytes)
        }
        if sides.count == 1 { return sides[0].count == 16 ? (sides[0], dotted) : nil }
        let missing = 16 - sides[0].count - sides[1].count
        return missing >= 2 ? (sides[0] + Array(repeating: 0, count: missing) + sides[1], dotted) : nil
    }
}

/// A block of addresses: an address and the number of its leading bits that count.
///
/// A block of mapped addresses (`::ffff:a00:0/104`) is the block of version 4 that it maps. Any other block of version 6 holds no
/// address of version 4.
final class AddressBlock: HostObject {
    /// Four or sixteen bytes.
    private let bytes: [UInt8]
    let bits: Int
    /// Whether the text has dotted decimals in version 6.
    let isDottedMapped: Bool

    private init(bytes: [UInt8], bits: Int, isDottedMapped: Bool = false) {
        let isMapped = IPAddress.isMapped(bytes) && bits >= 96
        self.bytes = isMapped ? Array(bytes[12...]) : bytes
        self.bits = isMapped ? bits - 96 : bits
        self.isDottedMapped = isDottedMapped
    }

    convenience init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let (bytes, dotted) = IPAddress.bytes(of: String(parts[0])), parts[1].utf8.allSatisfy(\.isDigit),
            parts[1] == "0" || parts[1].first != "0", let bits = Int(parts[1]), bits <= bytes.count * 8
        else { return nil }
        self.init(bytes: bytes, bits: bits, isDottedMapped: dotted && IPAddress.isMapped(bytes))
    }

    var celType: CELType { Network.cidrType }
    func value(named name: String) -> Value? { nil }
    func isEqual(to other: any HostObject) -> Bool {
        (other as? AddressBlock).map { $0.bytes == bytes && $0.bits == bits } ?? false
    }
    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
        hasher.combine(bits)
    }
    var text: String? { "\(IPAddress.text(of: bytes))/\(bits)" }

    var address: IPAddress { IPAddress(bytes: bytes) }

    var masked: AddressBlock { AddressBlock(bytes: Self.mask(bytes, bits), bits: bits) }

    func contains(_ other: IPAddress) -> Bool { contains(other.bytes) }

    func contains(_ other: AddressBlock) -> Bool { bits <= other.bits && contains(other.bytes) }

    private func contains(_ other: [UInt8]) -> Bool {
        other.count == bytes.count && Self.mask(other, bits) == Self.mask(bytes, bits)
    }

    private static func mask(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let left = bits - index * 8
            return left >= 8 ? byte : left <= 0 ? 0 : byte & ~(0xFF >> UInt8(left))
        }
    }
}
