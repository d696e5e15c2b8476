import BellhopCore

/// The members of a delivery that no query searches, as one JSON text.
struct DeliveryBody: Hashable {
    var revision: String
    var name: String?
    var arguments: Arguments
    var task: TaskReference?
    var retry: RetryPolicy
    var after: [Delivery.ID]
    var settles: Bool
    var initial: Delivery.InitialState
    var edits: [Delivery.Edit]

    init(_ delivery: Delivery) {
        revision = delivery.revision
        name = delivery.name
        arguments = delivery.arguments
        task = delivery.task
        retry = delivery.retry
        after = delivery.after
        settles = delivery.settles
        initial = delivery.initial
        edits = delivery.edits
    }

    var stored: JSON {
        var object: JSON.Object = [
            "revision": .string(revision),
            "retry": [.int(Int64(retry.attempts)), .int(retry.base.wholeMicroseconds), .int(retry.cap.wholeMicroseconds)],
        ]
        switch arguments {
        case .values(let values): object["values"] = .object(values)
        case .message(let message): object["message"] = message.stored
        }
        if let name { object["name"] = .string(name) }
        if let task { object["task"] = task.stored }
        if !after.isEmpty { object["after"] = .array(after.map(\.stored)) }
        if settles { object["settles"] = true }
        switch initial {
        case .available: break
        case .shadow: object["initial"] = "shadow"
        case .done(let receipt):
            var done: JSON.Object = ["done": .string(receipt.summary)]
            done["reference"] = receipt.reference.map(JSON.string)
            object["initial"] = .object(done)
        case .silenced(let silence): object["initial"] = ["silence": .string(silence)]
        case .quiet(let kept):
            var members: JSON.Object = [:]
            if let task = kept.task { members["task"] = task.json(source: "") }
            if let event = kept.event { members["event"] = .int(event) }
            object["initial"] = ["quiet": .object(members)]
        case .dropped(let failure): object["initial"] = ["dropped": failure.stored]
        case .dead(let failure): object["initial"] = failure.stored
        }
        if !edits.isEmpty {
            object["edits"] = .array(edits.map { ["by": .string($0.by), "at": .int($0.at.microseconds)] })
        }
        return StoredForm.delivery.stamp(.object(object))
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a delivery")
        try StoredForm.delivery.check(json)
        revision = try object.text("revision")
        name = object.members["name"]?.asString
        let retry = try object.array("retry").compactMap(\.asInt)
        guard retry.count == 3 else { throw object.missing("retry") }
        self.retry = RetryPolicy(attempts: Int(retry[0]), base: .microseconds(retry[1]), cap: .microseconds(retry[2]))
        switch (object.members["values"], object.members["message"]) {
        case (.object(let values)?, nil): arguments = .values(values)
        case (nil, let message?): arguments = .message(try Message(stored: message))
        default: throw object.missing("values")
        }
        task = nil
        if let json = object.members["task"] { task = try TaskReference(stored: json) }
        after = []
        if object.members["after"] != nil {
            for json in try object.array("after") { after.append(try Delivery.ID(stored: json)) }
        }
        settles = object.members["settles"] == true
        switch object.members["initial"] {
        case nil: initial = .available
        case "shadow": initial = .shadow
        case let done? where done["done"]?.asString != nil:
            initial = .done(Receipt(done["done"]?.asString ?? "", reference: done["reference"]?.asString))
        case let kept? where kept["silence"]?.asString != nil: initial = .silenced(by: kept["silence"]?.asString ?? "")
        case let kept? where kept["quiet"]?.asObject != nil:
            initial = .quiet(
                Delivery.KeptBack(
                    task: kept["quiet"]?["task"].flatMap(Snapshot.init(json:)), event: kept["quiet"]?["event"]?.asInt))
        case let kept? where kept["dropped"]?.asObject != nil: initial = .dropped(Failure(stored: kept["dropped"] ?? .null))
        case let failure?: initial = .dead(Failure(stored: failure))
        }
        edits = []
        for json in object.members["edits"].elements {
            let edit = try StoredObject(json, "an edit of a delivery")
            edits.append(Delivery.Edit(by: try edit.text("by"), at: Timestamp(microseconds: try edit.int("at"))))
        }
    }
}

extension Delivery.ID {
    var stored: JSON { [.string(occasion.text), .string(rule), .string(step.text), .string(receiver)] }

    init(stored json: JSON) throws(DamagedValue) {
        let parts = json.asArray?.compactMap(\.asString) ?? []
        guard parts.count == 4 else { throw DamagedValue("the name of a delivery is not made of four texts") }
        self.init(occasion: Occasion.ID(parts[0]), rule: parts[1], step: StepPath(parts[2]), receiver: parts[3])
    }
}

extension TaskReference {
    var stored: JSON {
        [
            "source": .string(source), "key": .string(key.text), "number": .string(number), "title": .string(title),
            "class": .string(className), "url": .string(url), "subject": .string(subject),
        ]
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a delivery's task")
        self.init(
            source: try object.text("source"), key: TaskKey(try object.text("key")), number: try object.text("number"),
            title: try object.text("title"), className: try object.text("class"), url: try object.text("url"),
            subject: try object.text("subject"))
    }
}
