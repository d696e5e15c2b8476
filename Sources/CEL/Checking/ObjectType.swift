/// A host type with named fields, such as a task: the checker knows each field and refuses others.
///
/// A class, though immutable, because many expressions share it.
public final class ObjectType: Sendable {
    public struct Field: Sendable, Hashable {
        public let name: String
        public let type: CELType

        public init(_ name: String, _ type: CELType) { (self.name, self.type) = (name, type) }
    }

    public let name: String
    /// The declared fields.
    public let fields: [Field]
    /// The type of undeclared fields; nil refuses them.
    public let otherFields: CELType?
    private let places: [String: Int]

    public init(_ name: String, fields: [Field], otherFields: CELType? = nil) {
        (self.name, self.fields, self.otherFields) = (name, fields, otherFields)
        places = Dictionary(zip(fields.map(\.name), fields.indices)) { first, _ in first }
    }

    public func index(of field: String) -> Int? { places[field] }

    /// The type of a field, declared or other.
    public func type(of field: String) -> CELType? { places[field].map { fields[$0].type } ?? otherFields }
}

extension ObjectType: Hashable {
    public static func == (a: ObjectType, b: ObjectType) -> Bool {
        a === b || (a.name == b.name && a.fields == b.fields && a.otherFields == b.otherFields)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
