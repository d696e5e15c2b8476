/// A value of the host: its fields are read one by one, when an expression needs them, so nothing is converted in advance.
public protocol HostObject: AnyObject, Sendable {
    /// The type that `type()` shows and that dynamic expressions use.
    var celType: CELType { get }

    /// The value of a field by its name, or nil if the object has no such field.
    func value(named name: String) -> Value?

    /// Whether `has()` is true for the field. By default: it exists and is not null.
    func has(_ name: String) -> Bool

    /// Whether `==` is true. By default: it is the same object.
    func isEqual(to other: any HostObject) -> Bool

    /// Consistent with ``isEqual(to:)``.
    func hash(into hasher: inout Hasher)

    /// The fields to include in JSON.
    var fieldNames: [String] { get }

    /// The result of `string()`, or nil if it is not supported.
    var text: String? { get }
}

extension HostObject {
    public func has(_ name: String) -> Bool { value(named: name).map { !$0.isNull } ?? false }
    public func isEqual(to other: any HostObject) -> Bool { self === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var fieldNames: [String] { [] }
    public var text: String? { nil }
}
