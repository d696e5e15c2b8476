/// A value of the host's own: fields are asked for one by one, when an expression needs them, so nothing is converted up front.
public protocol HostObject: AnyObject, Sendable {
    /// The type that `type()` shows and that a dynamic expression goes by.
    var celType: CELType { get }

    /// The value of a declared field by its place in the type that the expression was checked against, or nil where the object
    /// has no such field. The place costs an array access; an object of another type than `type` goes by `type.fields[index].name`.
    func value(at index: Int, of type: ObjectType) -> Value?

    /// The value of a field by its name, or nil where the object has no such field.
    func value(named name: String) -> Value?

    /// Whether `has()` is true of the field. Unless the object says otherwise: it is there and not null.
    func has(_ name: String) -> Bool

    /// Whether `==` holds. Unless the object says otherwise: it is the same object.
    func isEqual(to other: any HostObject) -> Bool

    /// Agrees with ``isEqual(to:)``.
    func hash(into hasher: inout Hasher)

    /// The fields that JSON shows.
    var fieldNames: [String] { get }

    /// What `string()` gives, or nil where it is no overload.
    var text: String? { get }
}

extension HostObject {
    public func value(at index: Int, of type: ObjectType) -> Value? { value(named: type.fields[index].name) }
    public func has(_ name: String) -> Bool { value(named: name).map { !$0.isNull } ?? false }
    public func isEqual(to other: any HostObject) -> Bool { self === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var fieldNames: [String] { [] }
    public var text: String? { nil }
}
