import BellhopCore

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
        }
        return .object(object)
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a failure")
        guard let reason = Reason(rawValue: try object.text("reason")) else { throw object.missing("reason") }
        let remedy: Remedy
        switch try object.text("remedy") {
        case "retry": remedy = .retry(after: object.members["after"]?.asInt.map(Duration.microseconds))
        case "rest": remedy = .rest(object.members["after"]?.asInt.map(Duration.microseconds))
        case "give_up": remedy = .giveUp
        case "unknown_outcome": remedy = .unknownOutcome
        case "hold": remedy = .hold
        case "pause_connection": remedy = .pauseConnection
        default: throw object.missing("remedy")
        }
        self.init(reason, remedy, try object.text("message"))
    }
}
