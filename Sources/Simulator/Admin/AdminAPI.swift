import BellhopCore

/// The simulator's own endpoint, `/simulator/…`: no login, no faults, JSON in and out.
///
/// For controlling a simulator from another process; ``help`` lists all requests.
struct AdminAPI: Sendable {
    let simulation: Simulation

    static let help = """
        GET    /simulator                     this list
        GET    /simulator/state               time, counts, users, tasks, journal and faults together
        GET    /simulator/faults              the rules, and how often each has occurred
        POST   /simulator/faults              adds a rule or a list of rules; returns their ids
               {"fault": "internal_error", "method": "POST", "path": "/api/x_snc_my_work", "skip": 0, "times": 1,
                "probability": 1, "takes_effect": false}     times: null for no limit
               faults:
        \(Fault.summaries.map { "               \($0.key): \($0.value)" }.joined(separator: "\n"))
               rate_limit also takes retry_after; text_cut, tags_stripped, digits_masked, typography take field: comments or
               work_notes; both by default
               query: a text that the decoded query must contain; rate_limit and faults that change texts last until they are
               removed, unless times is given
        DELETE /simulator/faults[/{id}]       one rule, or all
        GET    /simulator/tasks               all tasks, raw values
        POST   /simulator/tasks               {"table": "incident", "title": "…", "priority": 3, "assigned_to": "user name",
                                               "opened_by": "user name", "sys_id": "…", "fields": {"column": "raw value"}}
        GET    /simulator/tasks/{id}          by sys_id or number, also below
        PATCH  /simulator/tasks/{id}          {"set": {"column": "raw value"}, "assign": "user name" or null, "close": true,
                                               "touch": true, "by": "user name"}
        DELETE /simulator/tasks/{id}
        GET    /simulator/tasks/{id}/journal  comments and work notes
        POST   /simulator/tasks/{id}/journal  {"text": "…", "kind": "comments" or "work_notes", "by": "user name"}
        GET    /simulator/users               all users, without passwords
        POST   /simulator/users               {"user_name": "…", "password": "…", "name": "…", "email": "…"}
        PATCH  /simulator/users/{user_name}   password, language (en, de), active, utc_offset, may_use_tracker; tasks, journal,
                                              users, attachments: allowed, hidden or forbidden; work_notes, comments,
                                              updates, creates: allowed, ignored or refused; hidden_fields,
                                              omitted_fields, read_only_fields: ["column"]; roles: ["name"]; time_zone; date_format, time_format: "dd.MM.yyyy"
        DELETE /simulator/sessions[?user=…]   ends the sessions of one user, or all
        PATCH  /simulator/settings            latency (ms that each request takes), labels: {"comments": "…"}, session_seconds, session_queue, lock_out_after, has_tracker,
                                              missing_user_token: ignored, told or intercepted
        POST   /simulator/clients             client_id, client_secret (omit it for a public client), grants: password, refresh_token,
                                              client_credentials, jwt, authorization_code (default: all); user (for
                                              client_credentials), public_key (PEM, for jwt), redirects: ["address"],
                                              access_seconds, refresh_seconds, next_refresh_token: same, none or other
        POST   /simulator/api_keys            {"key": "…", "user": "user name", "paths": ["/api/now/"]}
        DELETE /simulator/tokens[?which=…]    revokes tokens: access (the default), refresh or all
        GET    /simulator/received            the messages to /hooks/{name} and /webhook/{name}; ?receiver=name
        DELETE /simulator/received
        GET    /simulator/chats               a page with the messages in the chats, as a person would see them
        GET    /simulator/inbox               a page for people: alerts, notifications, rooms and mails
        PUT    /simulator/receivers/{name}    {"status": 500, "body": "…"}: its answer from now on
        DELETE /simulator/receivers/{name}    back to 200 ok
        GET    /simulator/requests            all requests except those to /simulator; without credentials and cookies
        DELETE /simulator/requests

        """ + helpOnMail + helpOnETO + helpOnOtherSystems

    func answer(_ request: ReceivedRequest) -> Reply {
        do throws(AdminProblem) {
            return try route(request)
        } catch {
            return .json(error.status, ["error": .string(error.message)])
        }
    }

    private func route(_ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let path = Array(request.segments.dropFirst())
        switch (request.method, path.first, path.count) {
        case ("GET", nil, _): return .text(200, AdminAPI.help)
        case ("GET", "state", 1): return .json(200, state)
        case (_, "faults", 1...2): return try faults(path, request)
        case (_, "tasks", 1...3): return try tasks(path, request)
        case (_, "users", 1...2): return try users(path, request)
        case ("DELETE", "sessions", 1):
            simulation.instance.expireSessions(of: request.parameter("user"))
            return Reply(204)
        case ("PATCH", "settings", 1): return try settings(request)
        case (_, "clients", 1), (_, "api_keys", 1), (_, "tokens", 1): return try clients(path, request)
        case ("GET", "chats", 1): return .html(200, ChatPage(simulation: simulation).html)
        case (_, "received", 1), (_, "receivers", 2): return try receivers(path, request)
        case ("GET", "inbox", 1): return .html(200, InboxPage(simulation: simulation).html)
        case (_, "mail", 1...2): return try mail(path, request)
        case ("PUT", "access_rules", 1): return try accessRules(request)
        case (_, "eto", 1...3): return try eto(path, request)
        case (_, "mfp", 1...2): return try mobileFoundation(path, request)
        case (_, "api", 1...3): return try api(path, request)
        case (_, "pages", 2...): return try pages(path, request)
        case ("GET", "requests", 1): return .json(200, .array(simulation.requests.all.map(\.json)))
        case ("DELETE", "requests", 1):
            simulation.requests.clear()
            return Reply(204)
        default: throw AdminAPI.unknown(request)
        }
    }

    static func unknown(_ request: ReceivedRequest) -> AdminProblem {
        AdminProblem(status: 404, message: "no \(request.method) \(request.path) here; GET /simulator lists all requests")
    }

    private var state: JSON {
        let instance = simulation.instance
        let counts = instance.counts
        return [
            "now": .string(CivilTime.text(simulation.now())), "micros": .int(simulation.now()),
            "counts": [
                "requests": .int(simulation.requests.total), "logins": .int(counts.logins),
                "failed_logins": .int(counts.failedLogins),
                "logged_out": .int(counts.loggedOut), "token_requests": .int(counts.tokenRequests),
                "tokens_refused": .int(counts.tokensRefused), "queued": .int(counts.queued), "dropped": .int(counts.dropped),
                "lists": .int(counts.lists), "tracker_comments": .int(counts.trackerComments),
                "open_sessions": .int(instance.openSessions), "faults_struck": .int(simulation.faults.struck),
                "received": .int(simulation.receivers.received.count),
            ],
            "users": .array(instance.users.map(\.json)), "tasks": .array(instance.tasks.map(\.json)),
            "journal": .array(instance.journal.map(\.json)), "eto": simulation.eto.json, "mfp": simulation.mobileFoundation.json,
            "api": simulation.api.json, "faults": .array(simulation.faults.rules.map(\.json)),
        ]
    }

    private func settings(_ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        var form = try AdminForm(request)
        var settings = simulation.instance.settings
        if let value = try form.int("latency") { settings.latency = max(value, 0) }
        if let value = try form.values("labels") { settings.labels = value }
        if let value = try form.int("session_seconds") { settings.sessionSeconds = value }
        if let value = try form.int("session_queue") { settings.sessionQueue = value }
        if form.has("lock_out_after") { settings.lockOutAfter = try form.int("lock_out_after") }
        if let value = try form.bool("has_tracker") { settings.hasTracker = value }
        if let value = try form.choice("missing_user_token", InstanceSettings.MissingUserToken.self) {
            settings.missingUserToken = value
        }
        try form.end()
        simulation.instance.settings = settings
        return Reply(204)
    }
}
