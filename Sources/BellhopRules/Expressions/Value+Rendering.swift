import BellhopCore
import CEL

extension Value {
    /// The text that a template inserts: an empty text for null, RFC 3339 in a zone for a time, `1h30m` for a duration, JSON for a list
    /// or a map.
    ///
    /// - Parameter room: the bytes left for the whole rendering; once they are used up, the result is incomplete.
    func rendered(in zone: TimeZoneTable, _ room: RenderRoom = .unlimited) -> String {
        switch self {
        case .null, .optional(nil): ""
        case .optional(let inner?): inner.rendered(in: zone, room)
        case .timestamp(let moment): BellhopCore.Timestamp(moment).formatted(in: zone)
        case .list, .map: asJSON(in: zone, room).text
        case .object(let object): object.text ?? asJSON(in: zone, room).text
        case .duration(let span):
            // From one second on, without the fraction: "3d4h17s" instead of "3d4h17.601388s".
            DurationText.format(span.components.seconds == 0 ? span : .seconds(span.components.seconds))
        case .string, .bool, .int, .uint, .double, .bytes, .type: text ?? ""
        }
    }

    /// The value as JSON, for a template that keeps its type.
    ///
    /// - Parameter room: as for ``rendered(in:_:)``.
    func asJSON(in zone: TimeZoneTable, _ room: RenderRoom = .unlimited) -> JSON {
        guard room.take(Self.minBytes) else { return .null }
        switch self {
        case .null, .optional(nil): return .null
        case .optional(let inner?): return inner.asJSON(in: zone, room)
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .uint(let value): return Int64(exactly: value).map(JSON.int) ?? .double(Double(value))
        case .double(let value): return value.isFinite ? .double(value) : .string(text ?? "")
        case .list(let list):
            var items: [JSON] = []
            for place in 0..<list.count where room.isLeft { items.append(list[place].asJSON(in: zone, room)) }
            return .array(items)
        case .map(let map):
            var object = JSON.Object()
            for (key, value) in map.entries where room.isLeft {
                object[room.taking(key.text ?? "")] = value.asJSON(in: zone, room)
            }
            return .object(object)
        case .object(let host):
            if let text = host.text { return .string(room.taking(text)) }
            var object = JSON.Object()
            for name in host.fieldNames where room.isLeft {
                object[room.taking(name)] = host.value(named: name)?.asJSON(in: zone, room) ?? .null
            }
            return .object(object)
        case .duration: return .string(room.taking(text ?? ""))
        case .string, .timestamp, .bytes, .type: return .string(room.taking(rendered(in: zone, room)))
        }
    }

    /// Every value takes at least two bytes: itself and a comma.
    private static let minBytes = 2

    /// The text of a key for `once` and `by`; nil for null, which is not a key.
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
