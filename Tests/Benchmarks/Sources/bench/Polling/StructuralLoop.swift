/// The yardsticks for a scan: loops over the bytes that find every quote, brace, bracket, colon and comma.
enum StructuralLoop {
    /// The plain loop: adds up the positions, so that the compiler cannot skip any.
    @inline(never)
    static func plain(_ bytes: Span<UInt8>) -> Int {
        var found = 0
        for place in 0..<bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"),
                UInt8(ascii: ":"), UInt8(ascii: ","):
                found &+= place
            default: break
            }
        }
        return found
    }

    private static let marks: [UInt8] = {
        var marks = [UInt8](repeating: 0, count: 256)
        for mark in "\"{}[]:,".utf8 { marks[Int(mark)] = 1 }
        return marks
    }()

    /// A loop without mispredicted branches, about three times as fast: writes each position into a small buffer, repeatedly,
    /// and returns their number.
    @inline(never)
    static func branchFree(_ bytes: Span<UInt8>) -> Int {
        let marks = marks.span
        var list = [UInt32](repeating: 0, count: 1 << 14)
        var places = list.mutableSpan
        let last = places.count &- 1
        var found = 0
        for place in 0..<bytes.count {
            places[found & last] = UInt32(truncatingIfNeeded: place)
            found &+= Int(marks[Int(bytes[place])])
        }
        return found
    }
}
