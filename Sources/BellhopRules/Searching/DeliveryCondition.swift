public import BellhopCore
import CEL

/// A condition in the rules' language over deliveries: a search. It reads `delivery`.
public struct DeliveryCondition: Sendable {
    private let condition: RuleExpression
    private let slots: SlotTable

    /// - Throws: the mistakes in the condition.
    public init(_ when: String, context: RuleContext) throws(Diagnostics) {
        let cache = SharedNameCache(context, hasEvent: false)
        var names = RuleNames(cache.names(for: []), events: [], zone: context.timeZoneName)
        names.environment.declare("delivery", .object(DeliveryObject.type))
        condition = try SilenceBook.compile(when, names, "where", of: "a search")
        slots = names.environment.slots
    }

    /// The places of the deliveries for which the condition holds. One for which it fails or is unknown is left out.
    ///
    /// - Parameters:
    ///   - deliveries: in the form of `--json`.
    ///   - limit: how many places at most.
    ///   - isOver: asked after each; true to leave out the rest.
    public func matches(
        among deliveries: [JSON], at now: Timestamp, limit: Int = .max, isOver: () -> Bool = { false }
    ) -> Matched {
        let frame = DeliveryFrame(now)
        let activation = Activation(slots)
        return Matched(among: deliveries.count, limit: limit, isOver: isOver) { place in
            frame.delivery = deliveries[place].asObject ?? [:]
            activation.begin(frame)
            return condition.program.verdictOfOne(activation)
        }
    }
}

/// The values of a search among deliveries, moved from one to the next; a class because the language asks for values one by one.
private final class DeliveryFrame: Resolver {
    var delivery: JSON.Object = [:]
    private let now: Timestamp

    init(_ now: Timestamp) { self.now = now }

    func value(of slot: Slot) -> Value? {
        guard slot.path.isEmpty else { return nil }
        switch slot.variable {
        case "delivery": return .object(DeliveryObject(delivery, DeliveryObject.type))
        case "now": return Value(now)
        case "zone": return .string(slot.scope)
        default: return nil
        }
    }
}

/// A delivery, its task or its error, as searches see it.
private final class DeliveryObject: HostObject {
    private let members: JSON.Object
    private let type: ObjectType

    init(_ members: JSON.Object, _ type: ObjectType) { (self.members, self.type) = (members, type) }

    static let type = ObjectType(
        "a delivery",
        fields: [
            .init("id", .string), .init("state", .string), .init("rule", .string), .init("step", .string),
            .init("action", .string),
            .init("receiver", .string), .init("occasion", .string), .init("attempts", .int), .init("created", .timestamp),
            .init("next", .nullable(.timestamp)), .init("finished", .nullable(.timestamp)),
            .init("text", .string), .init("task", .nullable(.object(task))), .init("error", .nullable(.object(error))),
        ])

    private static let task = ObjectType(
        "the task of a delivery",
        fields: [.init("id", .string), .init("number", .string), .init("title", .string), .init("url", .string)])

    private static let error = ObjectType(
        "the error of a delivery", fields: [.init("reason", .string), .init("message", .string)])

    var celType: CELType { .object(type) }
    var fieldNames: [String] { type.fields.map(\.name) }

    func value(named name: String) -> Value? {
        guard let declared = type.type(of: name) else { return nil }
        if name == "text" { return .string(text) }
        let member = members[name]
        switch declared {
        case .string: return .string(member?.asString ?? "")
        case .int: return .int(member?.asInt ?? 0)
        case .timestamp, .nullable(.timestamp): return Value(member, as: .timestamp)
        case .nullable(.object(let part)): return (member?.asObject).map { .object(DeliveryObject($0, part)) } ?? .null
        default: return .null
        }
    }

    /// Its content: the title and the text of its message, or its arguments.
    private var text: String {
        guard let message = members["message"] else { return members["arguments"]?.text ?? "" }
        return (message["title"]?.asString ?? "") + "\n" + (message["text"]?.asString ?? "")
    }

    func isEqual(to other: any HostObject) -> Bool { (other as? DeliveryObject).map { $0.members == members } ?? false }

    func hash(into hasher: inout Hasher) { hasher.combine(members) }
}
