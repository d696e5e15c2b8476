/// The yardstick of a scan: a plain loop over the bytes that finds every quote, brace, bracket, colon and comma.
enum StructuralLoop {
    /// Adds up where they stand, so that no place goes unlooked at.
    @inline(never)
    static func run(_ bytes: Span<UInt8>) -> Int {
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
}
