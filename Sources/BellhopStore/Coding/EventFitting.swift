import BellhopCore

/// Cuts an event's data to a size, longest texts first. A mark at each cut says how many bytes are missing.
enum EventFitting {
    /// The largest size of an event's data, in bytes of JSON.
    static let limit = 256 * 1024

    /// The data as JSON, cut if necessary.
    static func encode(_ data: JSON.Object, into bytes: inout [UInt8], limit: Int = limit) {
        bytes.removeAll(keepingCapacity: true)
        JSON.object(data).encode(into: &bytes)
        guard bytes.count > limit else { return }
        let fitted = fit(.object(data), bytes.count, limit)
        bytes.removeAll(keepingCapacity: true)
        fitted.encode(into: &bytes)
    }

    private static func fit(_ data: JSON, _ size: Int, _ limit: Int) -> JSON {
        var lengths: [Int] = []
        gather(data, &lengths)
        var fitted = data
        if let level = level(of: lengths, excess: size - limit) { fitted = cut(data, above: level) }
        // Only numbers, names and short texts are left. Remove the largest members until the rest fits.
        guard case .object(var object) = fitted else { return fitted }
        while JSON.object(object).encoded().count > limit {
            let sizes = object.map { (key: $0.key, size: $0.value.encoded().count) }
            guard let largest = sizes.max(by: { $0.size < $1.size }), largest.size > longestMark else {
                return .object(["cut": .string(mark(size))])  // names alone are too long
            }
            object[largest.key] = .string(mark(largest.size))
        }
        return .object(object)
    }

    /// The text that replaces `count` bytes.
    private static func mark(_ count: Int) -> String { "… [cut, \(count) bytes]" }

    private static let longestMark = 40

    /// Texts as short as this are never cut.
    private static let shortest = 64

    /// The length to which texts are cut to save `excess` bytes; nil if no text is long enough to cut.
    ///
    /// Each byte of text is at least one byte of JSON, so counting bytes of text never cuts too little.
    private static func level(of lengths: [Int], excess: Int) -> Int? {
        let lengths = lengths.filter { $0 > shortest + longestMark }.sorted(by: >)
        var sum = 0
        for (count, length) in zip(1..., lengths) {
            sum += length
            let next = count < lengths.count ? lengths[count] : shortest
            let level = (sum - excess) / count - longestMark
            if level >= next { return max(level, shortest) }
        }
        return lengths.isEmpty ? nil : shortest
    }

    private static func gather(_ value: JSON, _ lengths: inout [Int]) {
        switch value {
        case .string(let text): lengths.append(text.utf8.count)
        case .array(let elements): for element in elements { gather(element, &lengths) }
        case .object(let object): for member in object { gather(member.value, &lengths) }
        case .null, .bool, .int, .double: break
        }
    }

    private static func cut(_ value: JSON, above level: Int) -> JSON {
        switch value {
        case .string(let text):
            let length = text.utf8.count
            guard length > level + longestMark else { return value }
            var end = text.utf8.index(text.startIndex, offsetBy: level)
            while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
            let kept = text[..<end]
            return .string(kept + mark(length - kept.utf8.count))
        case .array(let elements): return .array(elements.map { cut($0, above: level) })
        case .object(let object): return .object(JSON.Object(object.map { ($0.key, cut($0.value, above: level)) }))
        case .null, .bool, .int, .double: return value
        }
    }
}
