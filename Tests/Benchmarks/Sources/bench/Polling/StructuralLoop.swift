/// The yardstick of a scan: a loop over the bytes that finds every quote, brace, bracket, colon and comma.
enum StructuralLoop {
    private static let marks: [UInt8] = {
        var marks = [UInt8](repeating: 0, count: 256)
        for mark in "\"{}[]:,".utf8 { marks[Int(mark)] = 1 }
        return marks
    }()

    /// Writes down the place of each, over and over into the same few, and says how many there are.
    ///
    /// Without a branch that could be guessed wrong, which is more than twice as fast as a `switch` over the same cases.
    @inline(never)
    static func run(_ bytes: Span<UInt8>) -> Int {
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
