public import BellhopCore

extension Event {
    /// Reads what ``StoredEvent/json`` wrote: a CloudEvent, ignoring its place on the bus. Nil for anything else.
    public init?(cloudEvent json: JSON) {
        guard let id = json["id"]?.asString, let type = json["type"]?.asString, let source = json["source"]?.asString,
            let subject = json["subject"]?.asString, let data = json["data"]?.asObject,
            let time = json["time"]?.asString.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(id: ID(id), type: EventType(type), source: source, subject: subject, time: time, data: data)
    }
}
