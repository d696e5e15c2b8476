import BellhopCore

extension Failure {
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
