/// The type of a declared field of a task.
public enum FieldType: String, Sendable, Hashable, CaseIterable {
    case text, int, double, bool, timestamp
}

/// The fields a source declares, in order, with their types: conditions are checked against them.
public struct TaskSchema: Sendable, Hashable {
    public struct Field: Sendable, Hashable {
        /// The name in conditions and in `task.fields`.
        public var name: String
        public var type: FieldType
        /// Its path in the remote record (`caller_id.name`); the name itself unless it was renamed.
        public var path: String
        /// Whether it holds the id of another record, whose name is the field's label.
        public var holdsID: Bool

        public init(_ name: String, _ type: FieldType, path: String? = nil, holdsID: Bool = false) {
            self.name = name
            self.type = type
            self.path = path ?? name
            self.holdsID = holdsID
        }
    }

    public var fields: [Field]

    public init(_ fields: [Field]) { self.fields = fields }

    public subscript(name: String) -> Field? { fields.first { $0.name == name } }
}
