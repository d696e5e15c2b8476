import BellhopCore

extension SourceHealth {
    /// The health as stored.
    var stored: JSON {
        var object: JSON.Object = ["failures": .int(Int64(failures)), "announced": .bool(announced)]
        object["failingSince"] = failingSince.map { .int($0.microseconds) }
        object["lastError"] = lastError.map(JSON.string)
        object["lastSuccess"] = lastSuccess.map { .int($0.microseconds) }
        object["held"] = held?.json
        object["emptySince"] = emptyBaseline.map { .int($0.since.microseconds) }
        return .object(object)
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a source's health")
        var held: HeldResult?
        if let json = object.members["held"] {
            held = HeldResult(json: json)
            if held == nil { throw object.missing("held") }
        }
        self.init(
            failures: Int(try object.int("failures")), failingSince: object.optionalTime("failingSince"),
            lastError: object.optionalText("lastError"), announced: object.members["announced"] == true,
            lastSuccess: object.optionalTime("lastSuccess"), held: held,
            emptyBaseline: object.optionalTime("emptySince").map(EmptyBaseline.init(since:)))
    }
}
