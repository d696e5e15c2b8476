extension JSON {
    /// Parses one JSON text (RFC 8259) strictly: only whitespace is allowed around it.
    ///
    /// For a duplicate name the last value wins. Whole numbers beyond 64 bits become doubles; a number beyond all doubles becomes
    /// its text. A byte order mark at the start is skipped. Bytes that are not UTF-8 are an error; an escaped unpaired surrogate
    /// becomes U+FFFD.
    public static func parse(_ bytes: [UInt8], depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        let tape = try JSONTape(bytes, depth: depth)
        return tape.value(of: tape.root)
    }

    /// Parses a JSON text from a string.
    public static func parse(_ text: String, depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        try parse(Array(text.utf8), depth: depth)
    }
}
