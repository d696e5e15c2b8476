extension JSON {
    /// How a value is written.
    public struct Style: Sendable, Hashable {
        /// One member or element per line, indented by two spaces.
        public var pretty: Bool
        /// Members in the order of their keys' Unicode scalars, so that equal values have equal bytes.
        public var sorted: Bool

        public init(pretty: Bool = false, sorted: Bool = false) {
            self.pretty = pretty
            self.sorted = sorted
        }

        public static let compact = Style()
        public static let pretty = Style(pretty: true)
        public static let sorted = Style(sorted: true)
    }

    /// The value as UTF-8. A double that is not finite is written as `null`; U+2028 and U+2029 are escaped, so that the text is
    /// safe in a script.
    public func encoded(_ style: Style = .compact) -> [UInt8] {
        var writer = JSONWriter(style: style)
        writer.write(self)
        return writer.take()
    }

    /// Appends the value as UTF-8 to `bytes`; see ``encoded(_:)``.
    public func encode(into bytes: inout [UInt8], _ style: Style = .compact) {
        var writer = JSONWriter(style: style)
        writer.write(self)
        writer.append(to: &bytes)
    }

    /// The value as one line of text.
    public var text: String { text(.compact) }

    /// The value as text in this style.
    public func text(_ style: Style) -> String { String(decoding: encoded(style), as: UTF8.self) }
}

extension JSON: CustomStringConvertible {
    public var description: String { text }
}
