/// Fields and elements of values, as selections and indexes see them.
enum Fields {
    static func select(_ field: String, of value: Value) throws(EvaluationError) -> Value {
        switch value {
        case .map(let map):
            guard let found = map[.string(field)] ?? map.absent else { throw .noSuchKey(.string(field)) }
            return found
        case .object(let object):
            guard let found = object.value(named: field) else { throw .noSuchField(field) }
            return found
        case .optional(let inner): return try optional(inner, field)
        case .null: throw .selectFromNull(field)
        default: throw .noFields(value, field)
        }
    }

    /// `operand.?field`: an optional, empty if the field is absent.
    static func optionalSelect(_ field: String, of value: Value) throws(EvaluationError) -> Value {
        switch value {
        case .map(let map): return .optional(map[.string(field)])
        case .object(let object): return .optional(object.has(field) ? object.value(named: field) : nil)
        case .optional(let inner): return try optional(inner, field)
        case .null: throw .selectFromNull(field)
        default: throw .noFields(value, field)
        }
    }

    private static func optional(_ inner: Value?, _ field: String) throws(EvaluationError) -> Value {
        guard let inner else { return .optional(nil) }
        return try optionalSelect(field, of: inner)
    }

    static func has(_ field: String, in value: Value) throws(EvaluationError) -> Bool {
        switch value {
        case .map(let map): return map[.string(field)] != nil
        case .object(let object): return object.has(field)
        case .optional(let inner): return try inner.map { inner throws(EvaluationError) in try has(field, in: inner) } ?? false
        case .null: throw .selectFromNull(field)
        default: throw .noFields(value, field)
        }
    }

    static func index(_ operand: Value, _ key: Value) throws(EvaluationError) -> Value {
        switch operand {
        case .list(let list):
            if key.isNull { throw .nullOperand("an index") }
            guard let index = wholeNumber(key) else { throw .badIndex(key) }
            guard index >= 0, index < list.count else { throw .indexOutOfRange(key) }
            return list[Int(index)]
        case .map(let map):
            guard let found = map[key] else { throw key.isNull ? .nullOperand("a key") : .noSuchKey(key) }
            return found
        case .object(let object):
            guard case .string(let field) = key else { throw Operators.mismatch("[]", operand, key) }
            guard let found = object.value(named: field) else { throw .noSuchField(field) }
            return found
        case .optional(let inner):
            return try inner.map { inner throws(EvaluationError) in try optionalIndex(inner, key) } ?? .optional(nil)
        case .null: throw .nullOperand("an element")
        default: throw .noOverload("[]", [operand, key])
        }
    }

    /// `operand[?key]`: an optional, empty if the element is absent.
    static func optionalIndex(_ operand: Value, _ key: Value) throws(EvaluationError) -> Value {
        switch operand {
        case .list(let list):
            if key.isNull { throw .nullOperand("an index") }
            guard let index = wholeNumber(key) else { throw .badIndex(key) }
            return .optional(index >= 0 && index < list.count ? list[Int(index)] : nil)
        case .map(let map): return .optional(map[key])
        case .object(let object):
            guard case .string(let field) = key else { throw Operators.mismatch("[?]", operand, key) }
            return .optional(object.has(field) ? object.value(named: field) : nil)
        case .optional(let inner):
            return try inner.map { inner throws(EvaluationError) in try optionalIndex(inner, key) } ?? .optional(nil)
        case .null: throw .nullOperand("an element")
        default: throw .noOverload("[?]", [operand, key])
        }
    }

    /// A whole number of any type.
    private static func wholeNumber(_ value: Value) -> Int64? {
        switch value {
        case .int(let number): number
        case .uint(let number): Int64(exactly: number)
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    static func isKey(_ value: Value) -> Bool { !value.kind.intersection([.bool, .int, .uint, .string]).isEmpty }
}
