extension JSON {
    /// Reads one JSON text (RFC 8259), strictly: nothing but blanks may stand around it.
    ///
    /// Where an object has a name twice, the last value wins. Whole numbers beyond 64 bits are doubles; a number beyond all doubles is
    /// the text of its characters. A byte order mark at the start is passed over. Bytes that are not UTF-8 are an error; half a surrogate pair, in escapes, becomes U+FFFD.
    public static func parse(_ bytes: [UInt8], depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        let tape = try JSONTape(bytes, depth: depth)
        return tape.value(of: tape.root)
    }

    /// Reads the JSON text that these bytes of a body are; offsets in errors count from the body's start.
    public static func parse(_ bytes: ArraySlice<UInt8>, depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        do {
            return try parse(Array(bytes), depth: depth)
        } catch {
            throw JSONError(error.reason, at: error.offset + bytes.startIndex)
        }
    }

    /// Reads a JSON text from a string.
    public static func parse(_ text: String, depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        try parse(Array(text.utf8), depth: depth)
    }
}
