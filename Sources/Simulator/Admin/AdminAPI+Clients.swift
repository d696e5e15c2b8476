import BellhopCore

extension AdminAPI {
    /// Clients, API keys and tokens.
    func clients(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let instance = simulation.instance
        switch (request.method, path.first) {
        case ("POST", "clients"):
            var form = try AdminForm(request)
            var client = SimulatedClient(
                id: try form.required("client_id", try form.text("client_id")), secret: try form.text("client_secret"))
            if let names = try form.texts("grants") {
                client.grants = []
                for name in names {
                    guard let grant = SimulatedClient.Grant(rawValue: name) else {
                        let known = SimulatedClient.Grant.allCases.map(\.rawValue).joined(separator: ", ")
                        throw AdminProblem(message: "no grant '\(name)'; known: \(known)")
                    }
                    client.grants.insert(grant)
                }
            }
            client.user = try form.text("user")
            client.publicKey = try form.text("public_key")
            if let redirects = try form.texts("redirects") { client.redirects = Set(redirects) }
            if let seconds = try form.int("access_seconds") { client.accessSeconds = seconds }
            if let seconds = try form.int("refresh_seconds") { client.refreshSeconds = seconds }
            if let next = try form.choice("next_refresh_token", SimulatedClient.NextRefreshToken.self) { client.next = next }
            if let value = try form.bool("refresh_brings_another") { client.refreshBringsAnother = value }
            try form.end()
            let made = client
            instance.addClient(made.id, secret: made.secret) { $0 = made }
            return Reply(204)
        case ("POST", "api_keys"):
            var form = try AdminForm(request)
            let key = try form.required("key", try form.text("key"))
            let user = try form.required("user", try form.text("user"))
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
