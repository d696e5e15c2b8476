/// A JSON value: used for bodies, settings, events and message arguments.
///
/// Numbers keep their type: `1` is `.int(1)`, `1.0` is `.double(1.0)`, and the two are not equal. An integer beyond 64 bits is a
/// double. Strings compare as in Swift, by canonical equivalence.
public enum JSON: Sendable, Hashable, CustomStringConvertible {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object(Object)
}

extension JSON {
    public var isNull: Bool { self == .null }

    /// The boolean, if this is one.
    public var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The text, or null.
    public static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }

    /// The number, or null.
    public static func optional(_ number: Int64?) -> JSON { number.map(JSON.int) ?? .null }

    /// The whole number, if this is one; also a double without a fraction, if it fits.
    public var asInt: Int64? {
        switch self {
        case .int(let value): value
        case .double(let value): Int64(exactly: value)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The number, when this is one; integers beyond 2^53 are rounded.
    public var asDouble: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The text, when this is a string.
    public var asString: String? { if case .string(let value) = self { value } else { nil } }

    /// The moment, when this is a time in RFC 3339.
    public var asMoment: Timestamp? { asString.flatMap { Timestamp(rfc3339: $0) } }

    /// The elements, when this is an array.
    public var asArray: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members, when this is an object.
    public var asObject: Object? { if case .object(let value) = self { value } else { nil } }

    /// The value's type as a word for messages: `null`, `boolean`, `number`, `string`, `array` or `object`.
    public var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// A text itself; empty for null; JSON for all other values.
    public var plainText: String {
        switch self {
        case .null: ""
        case .string(let text): text
        case .bool, .int, .double, .array, .object: text
        }
    }

    /// The member called `key`; nil if there is none or this is not an object. Setting nil removes it; setting a value turns
    /// anything else into an object.
    public subscript(key: String) -> JSON? {
        get { if case .object(let object) = self { object[key] } else { nil } }
        set {
            var object = Object()
            if case .object(let present) = self { object = present }
            self = .null  // releases the storage, so that the change below is made in place
            object[key] = newValue
            self = .object(object)
        }
    }

    /// The element at `index`; nil if there is none or this is not an array.
    public subscript(index: Int) -> JSON? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }
}

extension JSON? {
    /// The text; empty unless this is one.
    public var textOrEmpty: String { self?.asString ?? "" }

    /// The elements; none unless this is an array.
    public var elements: [JSON] { self?.asArray ?? [] }

    /// The texts among the elements; none unless this is an array.
    public var texts: [String] { elements.compactMap(\.asString) }
}

/// There is no nil literal: in `condition ? nil : json`, nil is an absent value, and null is written `.null`.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Object(elements)) }
}

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

    public static func parse(_ text: String, depth: Int = JSONTape.defaultDepth) throws(JSONError) -> JSON {
        try parse(Array(text.utf8), depth: depth)
    }
}

extension JSON {
    /// How a value is written.
    public struct Style: Sendable, Hashable {
        /// One member or element per line, indented by two spaces.
        public var pretty: Bool
        /// Members in the order of their keys' Unicode scalars, so that equal values have equal bytes.
        public var sorted: Bool

        public init(pretty: Bool = false, sorted: Bool = false) { (self.pretty, self.sorted) = (pretty, sorted) }

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

    public var description: String { text }

    /// The value as text in this style.
    public func text(_ style: Style) -> String { String(decoding: encoded(style), as: UTF8.self) }
}
