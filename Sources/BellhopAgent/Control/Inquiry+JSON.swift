import BellhopConnectors
public import BellhopCore

extension Inquiry {
    /// The inquiry as one line on the socket, or as the body of a request to the console.
    public var json: JSON {
        switch self {
        case .status: ["inquiry": "status"]
        case .tasks(let task): ["inquiry": "tasks", "task": .optional(task)]
        case .apply(let command, let ids):
            ["inquiry": "apply", "command": .string(command.rawValue), "deliveries": .array(ids.map(JSON.string))]
        case .pause(let target, let reason):
            ["inquiry": "pause", target.member.name: target.member.value, "reason": .string(reason)]
        case .resume(let target): ["inquiry": "resume", target.member.name: target.member.value]
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
                "rule": .optional(request.rule), "force": .bool(request.isForced), "trial": .bool(request.isTrial),
            ]
        case .audit(let query):
            [
                "inquiry": "audit", "after": .optional(query.after), "since": .optional(query.since?.microseconds),
                "last": .bool(query.isLast), "limit": .int(Int64(query.limit)),
            ]
        case .history(let query):
            [
                "inquiry": "history", "task": .optional(query.task), "event": .optional(query.event),
                "through": .optional(query.through), "with_causes": .bool(query.withCauses), "limit": .int(Int64(query.limit)),
            ]
        case .activity: ["inquiry": "activity"]
        case .tokens: ["inquiry": "tokens"]
        case .addToken(let token): ["inquiry": "add_token", "name": .string(token.name), "token": token.json]
        case .removeToken(let name): ["inquiry": "remove_token", "name": .string(name)]
        case .keepRefusal(let key, let value): ["inquiry": "refusal", "key": .string(key), "value": value ?? .null]
        case .keychainChanged(let change, let place):
            [
                "inquiry": "keychain_changed", change.member.name: change.member.value, "keychain": .optional(place.file),
                "project": .optional(place.project),
            ]
        case .events(let query, let waits):
            [
                "inquiry": "events", "after": .optional(query.after), "through": .optional(query.through),
                "types": .array(query.types.map { .string($0.name) }), "sources": .array(query.sources.map(JSON.string)),
                "task": .optional(query.task), "id": .optional(query.id), "since": .optional(query.since?.microseconds),
                "limit": .int(Int64(query.limit)), "waits": .bool(waits),
            ]
        case .deliveries(let query):
            [
                "inquiry": "deliveries", "through": .optional(query.through),
                "states": .array(query.states.map { .string($0.rawValue) }), "rule": .optional(query.rule),
                "receiver": .optional(query.receiver), "since": .optional(query.since?.microseconds),
                "reason": .optional(query.reason?.rawValue), "id": .optional(query.id), "event": .optional(query.event?.text),
                "limit": .int(Int64(query.limit)),
            ]
        }
    }

    /// Reads what `json` wrote; nil for anything else.
    public init?(json: JSON) {
        func text(_ name: String) -> String? { json[name]?.asString }
        let limit = json["limit"]?.asInt.map { Int($0) } ?? 50
        let since = json["since"]?.asInt.map(Timestamp.init(microseconds:))
        let inquiry: Inquiry? =
            switch text("inquiry") {
            case "status": .status
            case "tasks": .tasks(text("task"))
            case "apply":
                text("command").flatMap(DeliveryCommand.init(rawValue:)).map { .apply($0, deliveries: json["deliveries"].texts) }
            case "pause": PauseTarget(json: json).map { .pause($0, reason: text("reason") ?? "") }
            case "resume": PauseTarget(json: json).map { .resume($0) }
            case "silences": .silences(ended: json["ended"] == true)
            case "add_silence": json["silence"].flatMap { Silence(json: $0) }.map { .addSilence($0) }
            case "end_silence": text("id").map { .endSilence($0) }
            case "forget": text("task").map { .forget(task: $0) }
            case "form": text("delivery").map { .form($0) }
            case "edit":
                if let id = text("delivery"), let before = text("before"), let after = text("after") {
                    .edit(FormEdit(delivery: id, before: before, after: after))
                } else {
                    nil
                }
            case "replay":
                .replay(
                    ReplayRequest(
                        events: json["events"].texts, rule: text("rule"), isForced: json["force"] == true,
                        isTrial: json["trial"] == true))
            case "audit":
                .audit(AuditQuery(after: json["after"]?.asInt, since: since, isLast: json["last"] == true, limit: limit))
            case "history":
                .history(
                    HistoryQuery(
                        task: text("task"), event: text("event"), through: json["through"]?.asInt,
                        withCauses: json["with_causes"] == true, limit: min(limit, HistoryQuery.maxEvents)))
            case "activity": .activity
            case "tokens": .tokens
            case "add_token":
                if let name = text("name"), let token = json["token"].flatMap({ ConsoleToken(name: name, json: $0) }) {
                    .addToken(token)
                } else {
                    nil
                }
            case "remove_token": text("name").map { .removeToken(of: $0) }
            case "refusal":
                if let key = text("key"), RefusedLogins.isKey(key) {
                    .keepRefusal(key, json["value"].flatMap { $0.isNull ? nil : $0 })
                } else {
                    nil
                }
            case "keychain_changed":
                KeychainChange(json: json).map {
                    .keychainChanged($0, in: KeychainPlace(file: text("keychain"), project: text("project")))
                }
            case "events":
                .events(
                    EventQuery(
                        after: json["after"]?.asInt, through: json["through"]?.asInt,
                        types: json["types"].texts.map(EventType.init), sources: json["sources"].texts, task: text("task"),
                        id: text("id"), since: since, limit: limit), waits: json["waits"] == true)
            case "deliveries":
                .deliveries(
                    DeliveryQuery(
                        through: json["through"]?.asInt, states: json["states"].texts.compactMap(DeliveryState.init(rawValue:)),
                        rule: text("rule"), receiver: text("receiver"), since: since,
                        reason: text("reason").flatMap(Failure.Reason.init), id: text("id"),
                        event: text("event").map(Event.ID.init), limit: limit))
            default: nil
            }
        guard let inquiry else { return nil }
        self = inquiry
    }
}

extension PauseTarget {
    /// The member that names it.
    fileprivate var member: (name: String, value: JSON) {
        switch self {
        case .receiver(let name): ("receiver", .string(name))
        case .rule(let name): ("rule", .string(name))
        case .writes: ("writes", true)
        }
    }

    fileprivate init?(json: JSON) {
        let other = json["writes"] == true ? Self.writes : json["receiver"]?.asString.map(Self.receiver)
        guard let target = json["rule"]?.asString.map(Self.rule) ?? other else { return nil }
        self = target
    }
}

extension KeychainChange {
    /// The member that names it.
    fileprivate var member: (name: String, value: JSON) {
        switch self {
        case .secret(let name): ("secret", .string(name))
        case .login(let name): ("login", .string(name))
        }
    }

    fileprivate init?(json: JSON) {
        guard let change = json["secret"]?.asString.map(Self.secret) ?? json["login"]?.asString.map(Self.login) else {
            return nil
        }
        self = change
    }
}
