import BellhopCore
import CEL

extension Value {
    /// The text that a template inserts: null is nothing, a time is RFC 3339 in a zone, a list or a map is JSON.
    func rendered(in zone: TimeZoneTable) -> String {
        switch self {
        case .null, .optional(nil): ""
        case .optional(let inner?): inner.rendered(in: zone)
        case .timestamp(let moment): BellhopCore.Timestamp(moment).formatted(in: zone)
        case .list, .map: asJSON(in: zone).text
        case .object(let object): object.text ?? asJSON(in: zone).text
        case .string, .bool, .int, .uint, .double, .bytes, .duration, .type: text ?? ""
        }
    }

    /// The value as JSON, where a template keeps its type.
    func asJSON(in zone: TimeZoneTable) -> JSON {
        switch self {
        case .null, .optional(nil): return .null
        case .optional(let inner?): return inner.asJSON(in: zone)
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .uint(let value): return Int64(exactly: value).map(JSON.int) ?? .double(Double(value))
        case .double(let value): return value.isFinite ? .double(value) : .string(text ?? "")
        case .list(let list): return .array((0..<list.count).map { list[$0].asJSON(in: zone) })
        case .map(let map):
            var object = JSON.Object()
            for (key, value) in map.entries { object[key.text ?? ""] = value.asJSON(in: zone) }
            return .object(object)
        case .object(let host):
            if let text = host.text { return .string(text) }
            var object = JSON.Object()
            for name in host.fieldNames { object[name] = host.value(named: name)?.asJSON(in: zone) ?? .null }
            return .object(object)
        case .string, .timestamp, .bytes, .duration, .type: return .string(rendered(in: zone))
        }
    }

    /// The text of a key, as `once` and `by` need it; nil for null, which is no key.
    var keyText: String? {
        switch self {
        case .null, .optional(nil): nil
        case .string(let text): text
        case .optional(let inner?): inner.keyText
        case .list, .map, .object: json
        case .bool, .int, .uint, .double, .bytes, .timestamp, .duration, .type: text ?? json
        }
    }
}
