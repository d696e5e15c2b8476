import BellhopCore
import CEL

/// A JSON object whose members are converted on access.
final class JSONMembers: HostMap {
    let object: JSON.Object

    init(_ object: JSON.Object) { self.object = object }

    var keys: [Value] { object.keys.map(Value.string) }

    func value(for key: Value) -> Value? {
        guard case .string(let name) = key else { return nil }
        return object[name].map { Value($0) }
    }
}

/// A JSON array whose elements are converted on access.
final class JSONElements: HostList {
    let elements: [JSON]

    init(_ elements: [JSON]) { self.elements = elements }

    var count: Int { elements.count }
    func element(at index: Int) -> Value { Value(elements[index]) }
}

extension Value {
    /// A JSON value as expressions see it; its texts stay texts.
    init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let elements): self = .list(List(JSONElements(elements)))
        case .object(let object): self = .map(Map(JSONMembers(object)))
        }
    }

    /// A declared field as expressions see it: empty text is `""`, an empty or unreadable value of another type is null.
    init(_ json: JSON?, as type: FieldType) {
        switch (type, json) {
        case (.text, .string(let text)): self = .string(text)
        case (.text, .int(let number)): self = .string(String(number))
        case (.text, .double(let number)): self = .string(JSON.double(number).text)
        case (.text, .bool(let flag)): self = .string(flag ? "true" : "false")
        case (.text, _): self = .string("")
        case (.int, .int(let number)): self = .int(number)
        case (.int, .double(let number)): self = Int64(exactly: number).map(Value.int) ?? .null
        case (.double, .double(let number)): self = .double(number)
        case (.double, .int(let number)): self = .double(Double(number))
        case (.bool, .bool(let flag)): self = .bool(flag)
        case (.timestamp, .string(let text)): self = Value.Timestamp(text).map(Value.timestamp) ?? .null
        case (.int, _), (.double, _), (.bool, _), (.timestamp, _): self = .null
        }
    }

    /// A Bellhop timestamp as expressions see it.
    init(_ moment: BellhopCore.Timestamp) {
        let nanoseconds = Int64(moment.subsecondMicroseconds) * 1000
        self = Value.Timestamp(seconds: moment.seconds, nanoseconds: nanoseconds).map(Value.timestamp) ?? .null
    }
}

extension BellhopCore.Timestamp {
    /// A timestamp of an expression, truncated to microseconds.
    init(_ moment: Value.Timestamp) {
        self = BellhopCore.Timestamp(seconds: moment.seconds) + .microseconds(Int64(moment.nanoseconds) / 1000)
    }
}
