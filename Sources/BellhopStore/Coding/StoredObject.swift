import BellhopCore

/// The members of a stored JSON object. A missing required member throws ``DamagedValue``; unknown members are ignored, so that
/// a form may gain members. A form whose members change their meaning gets a new version: see ``StoredForm``.
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

/// The forms of the JSON that rules and the store itself keep. JSON of the first version states none; JSON of a later one states it as `v`.
///
/// Failures, health and decision records have no version, because a program of another version reads of them what it can. Events,
/// cursors, notes and first messages belong to whoever has them stored.
enum StoredForm: String, CaseIterable {
    case delivery = "a delivery"
    /// All kinds together: waits, windows, sequences, escalations, …
    case ruleState = "a rule's state"
    case silence = "a silence"
    case task = "a task"
    case timer = "a rule's timer"

    /// The version that this program writes. It also reads all older ones.
    var version: Int64 { 1 }

    /// Throws ``DamagedValue`` if this program does not know the version.
    func check(_ json: JSON) throws(DamagedValue) {
        guard let member = json["v"] else { return }
        guard let stated = member.asInt, stated > 0 else { throw DamagedValue("\(rawValue) has no valid `v`") }
        if stated > version {
            throw DamagedValue("\(rawValue) has form \(stated), and this version reads forms up to \(version)", isNewer: true)
        }
    }
}

/// A value in a row that this program cannot have written.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    /// Whether a newer program wrote it.
    var isNewer: Bool

    init(_ problem: String, isNewer: Bool = false) { (self.problem, self.isNewer) = (problem, isNewer) }
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
        self.init(json["reason"]?.asString.flatMap(Reason.init) ?? .refused, remedy, json["message"]?.asString ?? "")
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
            lastError: json["lastError"]?.asString, announced: json["announced"] == true, lastSuccess: time("lastSuccess"),
            held: json["held"].flatMap(HeldResult.init(json:)), emptyBaseline: time("emptySince").map(EmptyBaseline.init(since:)))
    }
}
