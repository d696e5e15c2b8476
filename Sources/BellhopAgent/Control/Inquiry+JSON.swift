import BellhopConnectors
public import BellhopCore

extension Inquiry {
    /// The inquiry as one line on the socket, or as the body of a request to the console.
    public var json: JSON {
        switch self {
        case .status: ["inquiry": "status"]
        case .tasks(let task): ["inquiry": "tasks", "task": task.map(JSON.string) ?? .null]
        case .apply(let command, let ids):
            ["inquiry": "apply", "command": .string(command.rawValue), "deliveries": .array(ids.map(JSON.string))]
        case .pause(let target, let why): ["inquiry": "pause", target.kind: target.name, "why": .string(why)]
        case .resume(let target): ["inquiry": "resume", target.kind: target.name]
        case .silences(let ended): ["inquiry": "silences", "ended": .bool(ended)]
        case .addSilence(let silence): ["inquiry": "add_silence", "silence": .object(silence.json)]
        case .endSilence(let id): ["inquiry": "end_silence", "id": .string(id)]
        case .forget(let task): ["inquiry": "forget", "task": .string(task)]
        case .form(let id): ["inquiry": "form", "delivery": .string(id)]
        case .edit(let edit):
            [
                "inquiry": "edit", "delivery": .string(edit.delivery), "before": .string(edit.before),
                "after": .string(edit.after),
            ]
        case .replay(let request):
            [
                "inquiry": "replay", "events": .array(request.events.map(JSON.string)),
                "rule": request.rule.map(JSON.string) ?? .null, "force": .bool(request.isForced), "trial": .bool(request.isTrial),
            ]
        case .audit(let query):
            [
                "inquiry": "audit", "after": query.after.map(JSON.int) ?? .null,
                "since": query.since.map { .int($0.microseconds) } ?? .null, "last": .bool(query.isLast),
                "limit": .int(Int64(query.limit)),
            ]
        case .history(let query):
            [
                "inquiry": "history", "task": query.task.map(JSON.string) ?? .null,
                "event": query.event.map(JSON.string) ?? .null, "through": query.through.map(JSON.int) ?? .null,
                "with_causes": .bool(query.withCauses), "limit": .int(Int64(query.limit)),
            ]
        case .activity: ["inquiry": "activity"]
        case .tokens: ["inquiry": "tokens"]
        case .addToken(let token): ["inquiry": "add_token", "name": .string(token.name), "token": token.json]
        case .removeToken(let name): ["inquiry": "remove_token", "name": .string(name)]
        case .keepRefusal(let key, let value): ["inquiry": "refusal", "key": .string(key), "value": value ?? .null]
        case .keychainChanged(let change, let project):
            ["inquiry": "keychain_changed", change.kind: .string(change.name), "project": project.map(JSON.string) ?? .null]
        case .events(let query, let waits):
            [
                "inquiry": "events", "after": query.after.map(JSON.int) ?? .null,
                "through": query.through.map(JSON.int) ?? .null,
                "types": .array(query.types.map { .string($0.name) }),
                "sources": .array(query.sources.map(JSON.string)), "task": query.task.map(JSON.string) ?? .null,
                "id": query.id.map(JSON.string) ?? .null, "since": query.since.map { .int($0.microseconds) } ?? .null,
                "limit": .int(Int64(query.limit)), "waits": .bool(waits),
            ]
        case .deliveries(let query):
            [
                "inquiry": "deliveries", "through": query.through.map(JSON.int) ?? .null,
                "states": .array(query.states.map { .string($0.rawValue) }),
                "rule": query.rule.map(JSON.string) ?? .null, "receiver": query.receiver.map(JSON.string) ?? .null,
                "since": query.since.map { .int($0.microseconds) } ?? .null,
                "reason": query.reason.map { .string($0.rawValue) } ?? .null, "id": query.id.map(JSON.string) ?? .null,
                "event": query.event.map { .string($0.text) } ?? .null, "limit": .int(Int64(query.limit)),
            ]
        }
    }

    /// Reads what `json` wrote; nil for anything else.
    public init?(json: JSON) {
        let limit = json["limit"]?.asInt.map { Int($0) } ?? 50
        let since = json["since"]?.asInt.map(Timestamp.init(microseconds:))
        switch json["inquiry"]?.asString {
        case "status": self = .status
        case "tasks": self = .tasks(json["task"]?.asString)
        case "apply":
            guard let command = json["command"]?.asString.flatMap(DeliveryCommand.init(rawValue:)) else { return nil }
            self = .apply(command, deliveries: json["deliveries"].texts)
        case "pause":
            guard let target = PauseTarget(json: json) else { return nil }
            self = .pause(target, why: json["why"]?.asString ?? "")
        case "resume":
            guard let target = PauseTarget(json: json) else { return nil }
            self = .resume(target)
        case "silences": self = .silences(ended: json["ended"] == true)
        case "add_silence":
            guard let silence = json["silence"].flatMap({ Silence(json: $0) }) else { return nil }
            self = .addSilence(silence)
        case "end_silence":
            guard let id = json["id"]?.asString else { return nil }
            self = .endSilence(id)
        case "forget":
            guard let task = json["task"]?.asString else { return nil }
            self = .forget(task: task)
        case "form":
            guard let id = json["delivery"]?.asString else { return nil }
            self = .form(id)
        case "edit":
            guard let id = json["delivery"]?.asString, let before = json["before"]?.asString,
                let after = json["after"]?.asString
            else { return nil }
            self = .edit(FormEdit(delivery: id, before: before, after: after))
        case "replay":
            self = .replay(
                ReplayRequest(
                    events: json["events"].texts, rule: json["rule"]?.asString, isForced: json["force"] == true,
                    isTrial: json["trial"] == true))
        case "audit":
            self = .audit(AuditQuery(after: json["after"]?.asInt, since: since, isLast: json["last"] == true, limit: limit))
        case "history":
            self = .history(
                HistoryQuery(
                    task: json["task"]?.asString, event: json["event"]?.asString, through: json["through"]?.asInt,
                    withCauses: json["with_causes"] == true, limit: min(limit, HistoryQuery.maxEvents)))
        case "activity": self = .activity
        case "tokens": self = .tokens
        case "add_token":
            guard let name = json["name"]?.asString, let token = json["token"].flatMap({ ConsoleToken(name: name, json: $0) })
            else { return nil }
            self = .addToken(token)
        case "remove_token":
            guard let name = json["name"]?.asString else { return nil }
            self = .removeToken(of: name)
        case "refusal":
            guard let key = json["key"]?.asString, RefusedLogins.isKey(key) else { return nil }
            self = .keepRefusal(key, json["value"].flatMap { $0.isNull ? nil : $0 })
        case "keychain_changed":
            guard let change = KeychainChange(json: json) else { return nil }
            self = .keychainChanged(change, project: json["project"]?.asString)
        case "events":
            self = .events(
                EventQuery(
                    after: json["after"]?.asInt, through: json["through"]?.asInt,
                    types: json["types"].texts.map(EventType.init), sources: json["sources"].texts,
                    task: json["task"]?.asString, id: json["id"]?.asString, since: since, limit: limit),
                waits: json["waits"] == true)
        case "deliveries":
            self = .deliveries(
                DeliveryQuery(
                    through: json["through"]?.asInt, states: json["states"].texts.compactMap(DeliveryState.init(rawValue:)),
                    rule: json["rule"]?.asString, receiver: json["receiver"]?.asString, since: since,
                    reason: json["reason"]?.asString.flatMap(Failure.Reason.init), id: json["id"]?.asString,
                    event: json["event"]?.asString.map(Event.ID.init), limit: limit))
        default: return nil
        }
    }
}

extension PauseTarget {
    fileprivate var kind: String {
        switch self {
        case .receiver: "receiver"
        case .rule: "rule"
        case .writes: "writes"
        }
    }

    fileprivate var name: JSON {
        switch self {
        case .receiver(let name), .rule(let name): .string(name)
        case .writes: true
        }
    }

    fileprivate init?(json: JSON) {
        if let rule = json["rule"]?.asString {
            self = .rule(rule)
        } else if json["writes"] == true {
            self = .writes
        } else if let receiver = json["receiver"]?.asString {
            self = .receiver(receiver)
        } else {
            return nil
        }
    }
}

extension KeychainChange {
    fileprivate var kind: String {
        switch self {
        case .secret: "secret"
        case .login: "login"
        }
    }

    fileprivate var name: String {
        switch self {
        case .secret(let name), .login(let name): name
        }
    }

    fileprivate init?(json: JSON) {
        if let name = json["secret"]?.asString {
            self = .secret(name)
        } else if let name = json["login"]?.asString {
            self = .login(name)
        } else {
            return nil
        }
    }
}
