import BellhopCore

extension AdminAPI {
    /// Clients, API keys and tokens.
    func clients(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let instance = simulation.instance
        switch (request.method, path.first) {
        case ("POST", "clients"):
            var form = try AdminForm(request)
            var client = SimulatedClient(
                id: try form.requiredText("client_id"), secret: try form.text("client_secret"))
            if let grants = try form.choices("grants", SimulatedClient.Grant.self, kind: "grant") { client.grants = grants }
            client.user = try form.text("user")
            client.publicKey = try form.text("public_key")
            if let redirects = try form.texts("redirects") { client.redirects = Set(redirects) }
            if let seconds = try form.int("access_seconds") { client.accessSeconds = seconds }
            if let seconds = try form.int("refresh_seconds") { client.refreshSeconds = seconds }
            if let next = try form.choice("next_refresh_token", SimulatedClient.NextRefreshToken.self) { client.next = next }
            if let value = try form.bool("refresh_brings_another") { client.refreshIssuesNewToken = value }
            try form.end()
            let made = client
            instance.addClient(made.id, secret: made.secret) { $0 = made }
            return Reply(204)
        case ("POST", "api_keys"):
            var form = try AdminForm(request)
            let key = try form.requiredText("key")
            let user = try form.requiredText("user")
            let paths = try form.texts("paths") ?? []
            try form.end()
            instance.addAPIKey(key, of: user, paths: paths)
            return Reply(204)
        case ("DELETE", "tokens"):
            let which = request.parameter("which") ?? "access"
            guard ["access", "refresh", "all"].contains(which) else {
                throw AdminProblem(message: "'which' is access, refresh or all")
            }
            instance.revokeTokens(access: which != "refresh", refresh: which != "access")
            return Reply(204)
        default: throw AdminAPI.unknown(request)
        }
    }
}
