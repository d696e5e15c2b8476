import BellhopCore

/// A message as a CloudEvent 1.0 (cloudevents.io; HTTP protocol binding). Its id is the delivery's, the same for every attempt.
struct CloudEvent: Sendable, Hashable {
    static let type = "io.bellhop.message.v1"
    /// The structured form's type.
    static let contentType = "application/cloudevents+json; charset=UTF-8"

    var id: String
    /// A URI reference.
    var source: String
    var time: Timestamp
    /// The task's number; nil if there is no task.
    var subject: String?
    var data: JSON

    /// - Parameter document: see ``WebhookReceiver/render(_:from:)``.
    init(_ document: JSON, _ origin: MessageOrigin) {
        id = origin.delivery
        source = "/bellhop/rules/" + PercentEncoding.encode(origin.rule)
        time = origin.time
        subject = origin.task.map { DisplayText.line($0.number) }.flatMap { $0.isEmpty ? nil : $0 }
        data = document
    }

    private var attributes: [(name: String, value: String)] {
        [("specversion", "1.0"), ("id", id), ("source", source), ("type", Self.type), ("time", time.rfc3339)]
            + (subject.map { [("subject", $0)] } ?? [])
    }

    /// Everything in one JSON document.
    var structured: JSON {
        var event = JSON.Object(attributes.map { ($0.name, .string($0.value)) })
        event["datacontenttype"] = "application/json"
        event["data"] = data
        return .object(event)
    }

    /// The header fields of the binary form, whose body is the data.
    var fields: HeaderFields {
        var fields: HeaderFields = ["Content-Type": "application/json"]
        for (name, value) in attributes { fields.add("ce-" + name, Self.encoded(value)) }
        return fields
    }

    /// Percent-encodes blanks, quotation marks, percent signs and everything but printable ASCII (HTTP protocol binding, section
    /// 3.1.3.2).
    static func encoded(_ value: String) -> String {
        let kept = String(
            String.UnicodeScalarView((0x21...0x7e).map { Unicode.Scalar(UInt8($0)) }.filter { $0 != "\"" && $0 != "%" }))
        return PercentEncoding.encode(value, keeping: kept)
    }
}
