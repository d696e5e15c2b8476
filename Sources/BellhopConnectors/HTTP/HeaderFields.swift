import BellhopCore

/// The header fields of a request or response, in order; names compare without regard to case.
public struct HeaderFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public private(set) var fields: [Field]

    public init(_ fields: [Field] = []) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { Field($0, $1) } }

    /// The first value with that name. Setting replaces all of them, setting nil removes them.
    public subscript(name: String) -> String? {
        get { fields.first { Self.same($0.name, name) }?.value }
        set {
            fields.removeAll { Self.same($0.name, name) }
            if let newValue { fields.append(Field(name, newValue)) }
        }
    }

    /// All values with that name, in order.
    public func all(_ name: String) -> [String] { fields.filter { Self.same($0.name, name) }.map(\.value) }

    /// Appends a field, even if one with that name exists.
    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

    /// These fields, overridden by those of another.
    func with(_ other: HeaderFields) -> HeaderFields {
        var all = self
        for field in other.fields { all[field.name] = field.value }
        return all
    }

    /// The fields that settings must not set, in lower case, each with the reason.
    public static let reserved: [String: String] = {
        var reserved = ["host": "it follows from the address"]
        for name in ["content-length", "transfer-encoding"] { reserved[name] = "it follows from the body" }
        for name in ["connection", "keep-alive", "te", "trailer", "upgrade"] { reserved[name] = "HTTP itself controls it" }
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            reserved[name] = "Bellhop sets it where it sends a webhook"
        }
        return reserved
    }()

    /// Whether a name is allowed in a request: a token of RFC 9110, section 5.6.2.
    public static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Whether a value is allowed in a request: no control characters, which prevents header injection.
    public static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }

    private static func same(_ left: String, _ right: String) -> Bool { ASCII.equalIgnoringCase(left, right) }
}
