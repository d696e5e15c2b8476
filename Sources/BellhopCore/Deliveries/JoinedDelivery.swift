/// The delivery of one message in the place of many, as the deliveries that it replaced show it: their messages are sent only with it.
public struct JoinedDelivery: Sendable, Hashable {
    public var id: String
    /// Nil if it is no longer stored.
    public var state: DeliveryState?
    /// Why it was not sent, or not yet.
    public var error: String?

    public init(id: String, state: DeliveryState?, error: String? = nil) {
        (self.id, self.state, self.error) = (id, state, error)
    }

    /// The receipt of a delivery that joined it.
    public var summary: String { "joined delivery \(id), which \(fate)" }

    private var fate: String {
        let reason = error.map { ": \($0)" } ?? ""
        return switch state {
        case .available?, .waiting?, .quiet?: "waits" + reason
        case .running?: "is being sent"
        case .done?: "was sent"
        case .dead?: "failed" + reason
        case .held?: "may or may not have been sent" + reason
        case .dropped?: "was dropped" + reason
        case .shadow?, .silenced?, .joined?: "was not sent"
        case nil: "is no longer stored"
        }
    }

    public var json: JSON {
        var json: JSON.Object = ["delivery": .string(id), "state": .optional(state?.rawValue)]
        json["error"] = error.map(JSON.string)
        return .object(json)
    }

    /// Reads what ``json`` wrote; nil for anything else.
    public init?(json: JSON) {
        guard let id = json["delivery"]?.asString else { return nil }
        self.init(
            id: id, state: json["state"]?.asString.flatMap(DeliveryState.init(rawValue:)), error: json["error"]?.asString)
    }
}
