public import BellhopCore

/// The settings in bellhop.yaml for requests from other systems.
public enum InboundSettings {
    /// `inbound:` at the top.
    public static let root: [Setting] = [
        Setting(
            "listen", .text, required: true, "The address and port of the HTTP server; put a proxy with TLS in front of it.",
            example: "listen: \"127.0.0.1:8091\"")
    ]

    /// An entry of `events:`.
    public static let event: [Setting] = [
        Setting("description", .text, "When the event happens, in a sentence."),
        Setting(
            "fields", .map(.oneOf(["text", "integer", "boolean", "json"])),
            "The names of its members in `event.data`, and their types."),
    ]

    /// `push:` of a source that is polled.
    public static let push: [Setting] = [
        path, auth,
        Setting(
            "spacing", .duration, default: "5s", least: "1ms",
            "The shortest time between the starts of two polls caused by requests. All requests in between cause one poll."),
        rate,
    ]

    /// A source of kind `webhook`, besides its kind.
    public static let webhook: [Setting] = [
        path, auth,
        Setting(
            "event", .name, required: true,
            "`task` if each item is the current state of a task; otherwise the type of the events, declared under `events`."),
        Setting(
            "items", .text,
            "The path to the list of events or tasks in the body, `\"\"` if the body itself is the list; by default the whole body is one event or task."
        ),
        Setting(
            "id", .text,
            "The path to the id of the event's subject, within the item. For `event: task` it is required, and the id must be unique."
        ),
        Setting(
            "fields",
            .map(.fieldPath),
            "The paths of the event's members, if a path differs from the member's name. For `event: task`: the task's fields, as `name: path` or `name: {path, type}`."
        ),
        Setting(
            "headers", .map(.text),
            "The event's members that header fields of the request give, such as `kind: X-GitHub-Event`. No signature covers them. Fields with a secret or a signature, such as `Authorization` and `Cookie`, are refused, because events are stored."
        ),
        Setting("number", .text, "For `event: task`: the path to the task number that people use; by default the id."),
        Setting("title", .text, "For `event: task`: the path to the task's title."),
        Setting("type", .text, "For `event: task`: the path to the task's type, as shown to people."),
        Setting(
            "updated", .name,
            "For `event: task`: the field, of type `timestamp`, `int` or `double`, whose value grows with each change of a task. An item older than the stored state is answered 202 and ignored."
        ),
        Setting("url", .text, "For `event: task`: the task's web address for people, with `{id}` or paths in braces."),
        Setting(
            "dedup", .either([.text, .record([Setting("header", .text, required: true, "The header field's name.")])]),
            "The key of a delivery: a second delivery with the same key is ignored. A path in the body, or `{header: NAME}` (with `hmac`, the whole body is the key instead). With `standard_webhooks`, the default is the header field `webhook-id`."
        ),
        Setting("max_body", .size, default: "1MB", least: "1KB", "The largest body to read."),
        rate,
    ]

    private static let path = Setting("path", .text, required: true, "The path of the address, such as `/in/alerts`.")

    private static let rate = Setting(
        "rate", .rate, default: "100000/m", "The maximum rate of requests; further requests are answered 429.")

    private static let auth = Setting(
        "auth",
        .record([
            Setting(
                "hmac",
                .record([
                    Setting("secret", .list(.secret), required: true, "The secret, or several while a secret is being replaced."),
                    Setting(
                        "header", .text, required: true,
                        "The header field with the signature, or with several separated by commas."),
                    Setting(
                        "algorithm", .oneOf(SignatureCheck.Algorithm.allCases.map(\.rawValue)), default: "sha256",
                        "The hash function."),
                    Setting(
                        "encoding", .oneOf(SignatureCheck.Encoding.allCases.map(\.rawValue)), default: "hex",
                        "The encoding of the signature."),
                    Setting("prefix", .text, "The text before the signature, such as `sha256=`."),
                    Setting(
                        "timestamp",
                        .record([
                            Setting("header", .text, "The header field with the time."),
                            Setting("in", .text, "The text before the time in the signature's header field, such as `t=`."),
                            Setting(
                                "signed", .text, required: true, "The signed text, with `{timestamp}` and `{body}`.",
                                example: "signed: \"{timestamp}.{body}\""),
                            Setting(
                                "tolerance", .duration, default: "5m", least: "1s",
                                "The largest difference between the request's time and this machine's clock."),
                        ]), "The time of the request, if it is signed too."),
                ]), "A signature of the body (HMAC), as GitHub, Slack and Stripe send it."),
            Setting(
                "standard_webhooks", .list(.secret),
                "The secret of Standard Webhooks (`whsec_…`), or several while a secret is being replaced."),
            Setting("bearer", .list(.secret), "A token in `Authorization: Bearer`, or several while a token is being replaced."),
            Setting(
                "basic",
                .record([
                    Setting("username", .text, required: true, "The name."),
                    Setting("password", .secret, required: true, "The password."),
                ]), "A name and a password."),
        ]), required: true, "How the sender is authenticated: one of `hmac`, `standard_webhooks`, `bearer`, `basic`.")

    // MARK: - Reading

    /// - Parameter settings: those of a `push`, checked.
    public static func push(to source: String, _ settings: Settings) throws(SettingComplaints) -> InboundEndpoint {
        var endpoint = try endpoint(settings, .push(source: source))
        endpoint.largestBody = largestPush
        return endpoint
    }

    /// The largest body of a push, in bytes. It is ignored.
    private static let largestPush = 64 << 10

    /// - Parameters:
    ///   - settings: those of a source of kind `webhook`, checked.
    ///   - events: the declared types.
    public static func webhook(
        _ source: String, _ settings: Settings, events: EventCatalogue
    ) throws(SettingComplaints) -> InboundEndpoint {
        let name = settings.text("event") ?? ""
        if name == task { return try tasks(source, settings) }
        guard let definition = events[EventType(name)], definition.origin == .outside else {
            let known = events.definitions.filter { $0.origin == .outside }.map(\.type.name)
            let listing =
                known.isEmpty
                ? "write `task`, or declare it under `events`"
                : "use `task`, " + known.map { "`\($0)`" }.joined(separator: ", ")
            throw complaint(
                code: "unknown-event", "no event `\(name)` is declared", at: [.key("event")],
                help: Suggestion.didYouMean(name, among: known) ?? listing)
        }
        var complaints = ["number", "title", "type", "updated", "url"].filter { settings.values[$0] != nil }.map {
            SettingComplaint(
                code: "unknown-key", "only a task has a `\($0)`", at: [.key($0)], isAboutKey: true,
                help: "declare a member under `events`, or write `event: task`")
        }
        func path(_ text: String?, _ place: [SettingComplaint.Step]) -> JSON.Path? {
            guard let text else { return nil }
            if let path = JSON.Path(text: text) { return path }
            complaints.append(SettingComplaint(code: "wrong-path", "`\(text)` is not a path such as `a.b[0]`", at: place))
            return nil
        }
        var reading = EventReading(source: source, definition: definition)
        reading.items = path(settings.text("items"), [.key("items")])
        reading.id = path(settings.text("id"), [.key("id")])
        func checkName(_ member: String, _ place: [SettingComplaint.Step]) {
            if definition.members.contains(where: { $0.name == member }) { return }
            complaints.append(
                SettingComplaint(
                    code: "unknown-field", "the event `\(name)` has no member `\(member)`", at: place, isAboutKey: true,
                    help: Suggestion.didYouMean(member, among: definition.members.map(\.name))))
        }
        for (member, value) in settings.record("fields")?.values ?? [:] {
            let place: [SettingComplaint.Step] = [.key("fields"), .key(member)]
            checkName(member, place)
            if value.asString == nil {
                complaints.append(
                    SettingComplaint(
                        code: "wrong-type", "a member of an event must be a path; its type is declared under `events`", at: place)
                )
            }
            reading.fields[member] = path(value.asString, place)
        }
        for (member, value) in settings.record("headers")?.values ?? [:] {
            let place: [SettingComplaint.Step] = [.key("headers"), .key(member)]
            checkName(member, place)
            if let header = value.asString, secretHeaders(settings).contains(header.lowercased()) {
                complaints.append(
                    SettingComplaint(
                        code: "refused-name",
                        "`headers` cannot read `\(header)`: it has a secret or a signature, and events are stored", at: place))
            }
            if reading.fields[member] != nil {
                complaints.append(
                    SettingComplaint(
                        code: "two-values", "`\(member)` cannot come from the body and from a header field", at: place,
                        isAboutKey: true, help: "remove it from `fields` or `headers`"))
            }
            reading.headers[member] = value.asString
        }
        if let header = settings.record("dedup")?.text("header") {
            reading.dedupKey = .header(header)
        } else if let same = path(settings.text("dedup"), [.key("dedup")]) {
            reading.dedupKey = .path(same)
        } else if settings.record("auth")?.values["standard_webhooks"] != nil {
            reading.dedupKey = .header("webhook-id")
        }
        if !complaints.isEmpty { throw SettingComplaints(complaints) }
        return try endpoint(settings, .events(reading))
    }

    /// The header fields that prove who the sender is, in lower case. Whoever knows their values could send requests, too.
    private static func secretHeaders(_ settings: Settings) -> Set<String> {
        let auth = settings.record("auth")
        var names: Set = ["authorization", "proxy-authorization", "cookie"]
        if let signature = auth?.record("hmac")?.text("header") { names.insert(signature.lowercased()) }
        if auth?.values["standard_webhooks"] != nil { names.insert("webhook-signature") }
        return names
    }

    /// The value of `event` for a source whose items are tasks.
    public static let task = "task"

    private static func tasks(_ source: String, _ settings: Settings) throws(SettingComplaints) -> InboundEndpoint {
        if settings.values["dedup"] != nil {
            throw complaint(
                code: "unknown-key", "with `event: task` a repeated delivery changes nothing", at: [.key("dedup")],
                isAboutKey: true, help: "remove `dedup`")
        }
        if settings.values["headers"] != nil {
            throw complaint(
                code: "unknown-key", "only a declared event has `headers`", at: [.key("headers")], isAboutKey: true,
                help: "remove `headers`")
        }
        let items = settings.text("items")
        let path = items.flatMap { JSON.Path(text: $0) }
        if let items, path == nil {
            throw complaint(code: "wrong-path", "`\(items)` is not a path such as `a.b[0]`", at: [.key("items")])
        }
        return try endpoint(settings, .tasks(TaskReading(source: source, items: path)))
    }

    private static func endpoint(_ settings: Settings, _ purpose: InboundEndpoint.Purpose) throws(SettingComplaints)
        -> InboundEndpoint
    {
        let path = settings.text("path") ?? ""
        guard path.hasPrefix("/"), path.count > 1,
            !path.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "?") })
        else {
            throw complaint(code: "wrong-path", "a path begins with `/`, such as `/in/alerts`", at: [.key("path")])
        }
        return InboundEndpoint(
            path: path, key: try key(settings.record("auth") ?? Settings()), purpose: purpose,
            largestBody: settings.integer("max_body") ?? InboundEndpoint.defaultLargestBody,
            rate: settings.record("rate").flatMap(Rate.init) ?? Rate(count: 100_000, per: .seconds(60)))
    }

    private static func complaint(
        code: String, _ message: String, at path: [SettingComplaint.Step], isAboutKey: Bool = false, help: String? = nil
    ) -> SettingComplaints {
        SettingComplaints([SettingComplaint(code: code, message, at: path, isAboutKey: isAboutKey, help: help)])
    }

    private static func key(_ auth: Settings) throws(SettingComplaints) -> InboundKey {
        let ways = ["hmac", "standard_webhooks", "bearer", "basic"].filter { auth.values[$0] != nil }
        guard ways.count == 1 else {
            throw complaint(
                code: ways.isEmpty ? "missing-key" : "two-values",
                ways.isEmpty
                    ? "`auth` does not say how to authenticate the sender" : "`\(ways[0])` and `\(ways[1])` exclude each other",
                at: [.key("auth")], help: "give one of `hmac`, `standard_webhooks`, `bearer`, `basic`")
        }
        func wrong(_ message: String, _ path: String...) -> SettingComplaints {
            complaint(code: "wrong-value", message, at: [.key("auth")] + path.map { .key($0) })
        }
        switch ways[0] {
        case "hmac":
            let hmac = auth.record("hmac") ?? Settings()
            let secrets = hmac.texts("secret").filter { !$0.isEmpty }
            if secrets.isEmpty { throw wrong("the secret is empty", "hmac", "secret") }
            var timestamp: SignatureCheck.TimestampRule?
            if let rule = hmac.record("timestamp") {
                let place: SignatureCheck.TimestampRule.Place
                switch (rule.text("header"), rule.text("in")) {
                case (let header?, nil): place = .header(header)
                case (nil, let start?): place = .element(start)
                default: throw wrong("give either `header` or `in` for the place of the time", "hmac", "timestamp")
                }
                let signed = rule.text("signed") ?? ""
                guard signed.contains("{timestamp}"), signed.contains("{body}") else {
                    throw wrong("`signed` must contain `{timestamp}` and `{body}`", "hmac", "timestamp", "signed")
                }
                timestamp = .init(place, signed: signed, tolerance: rule.duration("tolerance") ?? InboundKey.tolerance)
            }
            return .signature(
                SignatureCheck(
                    keys: secrets.map { Array($0.utf8) }, header: hmac.text("header") ?? "",
                    algorithm: .init(rawValue: hmac.text("algorithm") ?? "") ?? .sha256,
                    encoding: .init(rawValue: hmac.text("encoding") ?? "") ?? .hex, prefix: hmac.text("prefix") ?? "",
                    timestamp: timestamp))
        case "standard_webhooks":
            var keys: [[UInt8]] = []
            for secret in auth.texts("standard_webhooks") {
                let prefix = "whsec_"
                guard secret.hasPrefix(prefix), let key = Base64.decode(secret.dropFirst(prefix.count), padding: .required),
                    24...64 ~= key.count
                else {
                    throw wrong(
                        "a secret of Standard Webhooks is whsec_ and the Base64 of 24 to 64 bytes", "standard_webhooks")
                }
                keys.append(key)
            }
            if keys.isEmpty { throw wrong("there is no secret", "standard_webhooks") }
            return .standardWebhooks(keys)
        case "bearer":
            let tokens = auth.texts("bearer").filter { !$0.isEmpty }
            if tokens.isEmpty { throw wrong("the token is empty", "bearer") }
            return .bearer(tokens)
        default:
            let basic = auth.record("basic") ?? Settings()
            guard let username = basic.text("username"), let password = basic.text("password"), !username.isEmpty,
                !password.isEmpty, !username.contains(":")
            else { throw wrong("the name or the password is empty, or the name has a colon", "basic") }
            return .basic(username: username, password: password)
        }
    }
}
