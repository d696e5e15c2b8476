import BellhopCore

extension SourceHealth {
    var stored: JSON {
        var object: JSON.Object = ["failures": .int(Int64(failures)), "announced": .bool(announced)]
        object["failingSince"] = failingSince.map { .int($0.microseconds) }
        object["lastError"] = lastError.map(JSON.string)
        object["lastSuccess"] = lastSuccess.map { .int($0.microseconds) }
        object["held"] = held?.json
        object["emptySince"] = emptyBaseline.map { .int($0.since.microseconds) }
        return .object(object)
    }

    /// A missing or unreadable member counts as never recorded: the next polls record it again.
    init(stored json: JSON) {
        func time(_ name: String) -> Timestamp? { json[name]?.asInt.map(Timestamp.init(microseconds:)) }
        self.init(
            failures: Int(json["failures"]?.asInt ?? 0), failingSince: time("failingSince"),
            lastError: json["lastError"]?.asString, announced: json["announced"] == true, lastSuccess: time("lastSuccess"),
            held: json["held"].flatMap(HeldResult.init(json:)), emptyBaseline: time("emptySince").map(EmptyBaseline.init(since:)))
    }
}
