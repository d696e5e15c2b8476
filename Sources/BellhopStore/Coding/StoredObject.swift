import BellhopCore

/// The members of a stored JSON object. A missing required member throws ``DamagedValue``; unknown members are ignored, so that
/// a format may gain members. A format whose members change their meaning needs a version, like ``DeliveryBody``.
struct StoredObject {
    let members: JSON.Object
    private let what: String

    init(_ json: JSON, _ what: String) throws(DamagedValue) {
        guard case .object(let members) = json else { throw DamagedValue("\(what) is a \(json.kindName), not an object") }
        self.members = members
        self.what = what
    }

    func text(_ name: String) throws(DamagedValue) -> String {
        guard let text = members[name]?.asString else { throw missing(name) }
        return text
    }

    func optionalText(_ name: String) -> String? { members[name]?.asString }

    func int(_ name: String) throws(DamagedValue) -> Int64 {
        guard case .int(let number)? = members[name] else { throw missing(name) }
        return number
    }

    func array(_ name: String) throws(DamagedValue) -> [JSON] {
        guard let array = members[name]?.asArray else { throw missing(name) }
        return array
    }

    func missing(_ name: String) -> DamagedValue { DamagedValue("\(what) has no valid `\(name)`") }
}

/// A value in a row that this program cannot have written.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    init(_ problem: String) { self.problem = problem }
}

extension Failure {
    /// The failure as stored.
    var stored: JSON {
        var object: JSON.Object = ["reason": .string(reason.rawValue), "message": .string(message)]
        switch remedy {
        case .retry(let after):
            object["remedy"] = "retry"
            if let after { object["after"] = .int(after.wholeMicroseconds) }
        case .rest(let wait):
            object["remedy"] = "rest"
            if let wait { object["after"] = .int(wait.wholeMicroseconds) }
        case .giveUp: object["remedy"] = "give_up"
        case .unknownOutcome: object["remedy"] = "unknown_outcome"
        case .hold: object["remedy"] = "hold"
        case .pauseConnection: object["remedy"] = "pause_connection"
        case .pauseReceiver: object["remedy"] = "pause_receiver"
        }
        return .object(object)
    }

    /// Reads failures of other versions too, because they are only shown: an unknown reason becomes `refused`, an unknown remedy giving up.
    init(stored json: JSON) {
        let after = json["after"]?.asInt.map(Duration.microseconds)
        let remedy: Remedy =
            switch json["remedy"]?.asString {
            case "retry": .retry(after: after)
            case "rest": .rest(after)
            case "unknown_outcome": .unknownOutcome
            case "hold": .hold
            case "pause_connection": .pauseConnection
            case "pause_receiver": .pauseReceiver
            default: .giveUp
            }
        self.init(
            json["reason"]?.asString.flatMap(Reason.init) ?? .refused, remedy, json["message"]?.asString ?? "")
    }
}

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

    /// A missing or unreadable member counts as never recorded: the next polls record it again.
    init(stored json: JSON) {
        func time(_ name: String) -> Timestamp? { json[name]?.asInt.map(Timestamp.init(microseconds:)) }
        self.init(
            failures: Int(json["failures"]?.asInt ?? 0), failingSince: time("failingSince"),
            lastError: json["lastError"]?.asString,
            announced: json["announced"] == true, lastSuccess: time("lastSuccess"),
            held: json["held"].flatMap(HeldResult.init(json:)), emptyBaseline: time("emptySince").map(EmptyBaseline.init(since:)))
    }
}
