import BellhopCore

extension AdminAPI {
    func users(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let instance = simulation.instance
        switch (request.method, path.count) {
        case ("GET", 1): return .json(200, .array(instance.users.map(\.json)))
        case ("POST", 1):
            var form = try AdminForm(request)
            let userName = try form.requiredText("user_name")
            let password = try form.requiredText("password")
            let name = try form.text("name")
            let email = try form.text("email")
            try form.end()
            return .json(201, instance.addUser(userName, password: password, name: name, email: email).json)
        case ("PATCH", 2):
            guard var user = instance.user(path[1]) else { throw AdminProblem(status: 404, message: "no user '\(path[1])'") }
            let before = user
            var form = try AdminForm(request)
            try edit(&user, &form)
            try form.end()
            let after = user
            instance.changeUser(before.userName) { $0 = after }
            if after.password != before.password { instance.setPassword(of: before.userName, to: after.password) }
            return .json(200, after.json)
        default: throw AdminAPI.unknown(request)
        }
    }

    private func edit(_ user: inout SimulatedUser, _ form: inout AdminForm) throws(AdminProblem) {
        if let value = try form.text("password") { user.password = value }
        if let value = try form.choice("language", Language.self) { user.language = value }
        if let value = try form.bool("active") { user.isActive = value }
        if let value = try form.int("utc_offset") { user.utcOffset = value }
        if let value = try form.bool("may_use_tracker") { user.mayUseTracker = value }
        if let value = try form.choice("tasks", SimulatedUser.Reading.self) { user.tasks = value }
        if let value = try form.choice("journal", SimulatedUser.Reading.self) { user.journal = value }
        if let value = try form.choice("users", SimulatedUser.Reading.self) { user.users = value }
        if let value = try form.choice("work_notes", SimulatedUser.Writing.self) { user.workNotes = value }
        if let value = try form.choice("comments", SimulatedUser.Writing.self) { user.comments = value }
        if let value = try form.choice("updates", SimulatedUser.Writing.self) { user.updates = value }
        if let value = try form.choice("creates", SimulatedUser.Writing.self) { user.creates = value }
        if let value = try form.choice("attachments", SimulatedUser.Reading.self) { user.attachments = value }
        if let value = try form.texts("hidden_fields") { user.hiddenFields = Set(value) }
        if let value = try form.texts("omitted_fields") { user.omittedFields = Set(value) }
        if let value = try form.texts("read_only_fields") { user.readOnlyFields = Set(value) }
        if let value = try form.texts("roles") { user.roles = value }
        if let value = try form.text("time_zone") { user.timeZone = value }
        if let value = try form.text("date_format") { user.dateFormat = value }
        if let value = try form.text("time_format") { user.timeFormat = value }
    }

    func receivers(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let receivers = simulation.receivers
        switch (request.method, path.first) {
        case ("GET", "received"):
            let wanted = request.parameter("receiver")
            return .json(200, .array(receivers.received.filter { wanted == nil || $0.receiver == wanted }.map(\.json)))
        case ("DELETE", "received"): receivers.clear()
        case ("PUT", "receivers"):
            var form = try AdminForm(request)
            let status = try form.requiredStatus()
            let body = try form.text("body") ?? ""
            try form.end()
            receivers.setAnswer(of: path[1], status: status, body: body)
        case ("DELETE", "receivers"): receivers.setAnswer(of: path[1], status: nil)
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }
}

extension AdminAPI {
    /// Clients, API keys and tokens.
    func clients(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let instance = simulation.instance
        switch (request.method, path.first) {
        case ("POST", "clients"):
            var form = try AdminForm(request)
            var client = SimulatedClient(id: try form.requiredText("client_id"), secret: try form.text("client_secret"))
            if let grants = try form.choices("grants", SimulatedClient.Grant.self, kind: "grant") { client.grants = grants }
            client.user = try form.text("user")
            client.publicKey = try form.text("public_key")
            if let redirects = try form.texts("redirects") { client.redirects = Set(redirects) }
            if let seconds = try form.int("access_seconds") { client.accessSeconds = seconds }
            if let seconds = try form.int("refresh_seconds") { client.refreshSeconds = seconds }
            if let next = try form.choice("next_refresh_token", SimulatedClient.NextRefreshToken.self) { client.next = next }
            try form.end()
            let made = client
            instance.addClient(made.id, secret: made.secret) { $0 = made }
        case ("POST", "api_keys"):
            var form = try AdminForm(request)
            let key = try form.requiredText("key")
            let user = try form.requiredText("user")
            let paths = try form.texts("paths") ?? []
            try form.end()
            instance.addAPIKey(key, of: user, paths: paths)
        case ("DELETE", "tokens"):
            let which = request.parameter("which") ?? "access"
            guard ["access", "refresh", "all"].contains(which) else {
                throw AdminProblem(message: "'which' is access, refresh or all")
            }
            instance.revokeTokens(access: which != "refresh", refresh: which != "access")
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }
}
