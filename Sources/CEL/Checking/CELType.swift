/// A type as the checker and `type()` know it.
public indirect enum CELType: Sendable, Hashable {
    case null, bool, int, uint, double, string, bytes, timestamp, duration
    /// Any type: checked at run time.
    case dyn
    case list(CELType)
    case map(CELType, CELType)
    case optional(CELType)
    case type(CELType)
    /// A host object with declared fields.
    case object(ObjectType)
    /// The type or null, such as a number that a record may lack. Used as its inner type; may be compared with `null`.
    case nullable(CELType)
    /// A type known by name only, such as `net.IP`.
    case opaque(String, [CELType] = [])
    /// A type that a call determines: the `A` in `list(A)`.
    case parameter(String)

    /// The name that `type()` shows: `list` for every list.
    public var name: String {
        switch self {
        case .null: "null_type"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "google.protobuf.Timestamp"
        case .duration: "google.protobuf.Duration"
        case .dyn: "dyn"
        case .list: "list"
        case .map: "map"
        case .optional: "optional_type"
        case .type: "type"
        case .object(let object): object.name
        case .nullable(let inner): inner.name
        case .opaque(let name, _): name
        case .parameter(let name): name
        }
    }
}

extension CELType: CustomStringConvertible {
    /// The type as messages show it: `list(int)`, `timestamp`.
    public var description: String {
        switch self {
        case .null: "null"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .list(let element): "list(\(element))"
        case .map(let key, let value): "map(\(key), \(value))"
        case .optional(let inner): "optional(\(inner))"
        case .type(let inner): inner == .dyn ? "type" : "type(\(inner))"
        case .nullable(let inner): "\(inner)"
        case .opaque(let name, let parameters):
            parameters.isEmpty ? name : "\(name)(\(parameters.map(\.description).joined(separator: ", ")))"
        default: name
        }
    }
}

extension CELType {
    /// The types inside this one.
    var parts: [CELType] {
        switch self {
        case .list(let a), .optional(let a), .type(let a), .nullable(let a): [a]
        case .map(let a, let b): [a, b]
        case .opaque(_, let parts): parts
        default: []
        }
    }

    /// The same type with other inner types.
    func replacingParts(_ change: (CELType) -> CELType) -> CELType {
        switch self {
        case .list(let a): .list(change(a))
        case .optional(let a): .optional(change(a))
        case .type(let a): .type(change(a))
        case .nullable(let a): .nullable(change(a))
        case .map(let a, let b): .map(change(a), change(b))
        case .opaque(let name, let parts): parts.isEmpty ? self : .opaque(name, parts.map(change))
        default: self
        }
    }

    /// Whether the type, or a part of it, is known only at run time.
    var isOpen: Bool {
        switch self {
        case .dyn, .parameter: true
        default: parts.contains(where: \.isOpen)
        }
    }

    func isDeeper(than depth: Int) -> Bool { depth < 0 || parts.contains { $0.isDeeper(than: depth - 1) } }

    /// The inner type of a nullable one, else the type itself.
    var unwrapped: CELType {
        if case .nullable(let inner) = self { return inner }
        return self
    }
}
