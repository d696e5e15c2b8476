import BellhopAgent
import BellhopConnectors
import BellhopCore
import Synchronization

extension LogIn {
    /// Runs the authorization in a browser for a connection with only `auth: {keychain: true}`: the keychain also stores the client.
    func authorize(_ configuration: Configuration, asClient id: String) async throws(CommandError) {
        var client: JSON.Object = [
            "grant": .string(OAuthSettings.GrantName.authorizationCode.rawValue), "client_id": .string(id),
            "redirect_url": .string(OAuthSettings.defaultRedirect),
        ]
        if let secret = try Console.askSecretLine("Client secret (empty if there is none): "), !secret.isEmpty {
            client["client_secret"] = .string(secret)
        }
        var configuration = configuration
        for index in configuration.connections.indices where configuration.connections[index].name == connection {
            configuration.connections[index].settings.values["auth"] = ["oauth": .object(client)]
        }
        try await authorize(configuration, client: Settings(client))
    }

    /// Runs the authorization in a browser (OAuth authorization_code), tries the resulting tokens, and stores them.
    func authorize(_ configuration: Configuration, client: Settings? = nil) async throws(CommandError) {
        let draft = DraftTokens()
        let connectors = try await connectors(configuration, notebook: NoOpSink(), login: nil, tokens: draft)
        let trial: LoginTrial
        do throws(CommandError) {
            trial = try await authorize(connectors, configuration)
        } catch {
            await connectors.shutdown()
            throw error
        }
        await connectors.shutdown()
        guard var tokens = try? await draft.tokens(of: connection) else {
            throw CommandError(.loginRefused, "The server returned no tokens.")
        }
        tokens.client = client
        tokens.mark = Hexadecimal.random()
        let keychain = try config.keychain(toStore: options)
        try rethrowing(as: CommandError.init) { () throws(SecretError) in
            try keychain.setTokens(connection, to: tokens)
            // The tokens replace a password.
            if client != nil { try keychain.setLogin(connection, to: nil) }
        }
        if let user = trial.user, trial.doubt == nil {
            Console.sentence("Logged in as \(user.singleLine); stored in \(keychain.path).")
        } else {
            Console.sentence(Self.words(trial, "the tokens") + " They are stored in \(keychain.path).")
        }
        if tokens.refresh == nil {
            Console.sentence("The server gave no refresh token: when this token expires, a person must log in again.")
        }
        try config.informAgent(.login(connection), options)
    }

    private func authorize(_ connectors: Connectors, _ configuration: Configuration) async throws(CommandError) -> LoginTrial {
        guard let client = connectors.oauth(connection: connection), let request = await client.authorizationRequest() else {
            throw CommandError(.usage, "The connection `\(connection)` needs no authorization in a browser.")
        }
        let code = try await code(of: request)
        do throws(Failure) { try await client.redeem(code, of: request) } catch { throw CommandError(error) }
        return try await verify(connectors, configuration)
    }

    private func code(of request: AuthorizationRequest) async throws(CommandError) -> String {
        let redirect = request.redirect
        guard !paste, redirect.isLoopback, !redirect.isSecure else { return try pasted(request) }
        let outcome = await RedirectListener.wait(
            host: redirect.host, port: redirect.port, path: String(redirect.path), atMost: .seconds(300),
            interpret: { target in
                do throws(AuthorizationRequest.Problem) {
                    return .code(try request.code(at: target))
                } catch {
                    return error.isForeign ? .foreign : .refused(error.message)
                }
            },
            ready: {
                Console.note("Open this address in a browser on this machine, log in and agree:\n\n\(request.page)\n")
                Console.note("Waiting for it at \(redirect.place), for five minutes. (Without a browser here, use --paste.)")
            })
        switch outcome {
        case .code(let code): return code
        case .refused(let why): throw CommandError(.loginRefused, why)
        case .timedOut:
            throw CommandError(
                .loginRefused, "Nobody completed the login in the browser within five minutes, so nothing was stored.")
        case .cannotListen(let reason):
            Console.note("Bellhop cannot listen at \(redirect.place): \(reason).")
            return try pasted(request)
        }
    }

    /// Asks for the address that the browser opened last, if no browser can reach this machine.
    private func pasted(_ request: AuthorizationRequest) throws(CommandError) -> String {
        Console.note("Open this address in any browser, log in and agree:\n\n\(request.page)\n")
        Console.note("The browser then opens \(request.redirect). It may show an error there; that is normal.")
        guard let answer = try Console.askSecretLine("The whole address that it opened, or the code in it: "), !answer.isEmpty
        else {
            throw CommandError(.usage, "Nothing was pasted, so nothing was stored.")
        }
        return try rethrowing(as: { CommandError(.loginRefused, $0.message) }) { () throws(AuthorizationRequest.Problem) in
            try request.code(in: answer)
        }
    }
}

/// Holds the tokens of a login until it is tried and stored. A class over a lock, because the connection writes them and the command
/// reads them.
final class DraftTokens: TokenStorage {
    private let kept = Mutex<StoredTokens?>(nil)

    func tokens(of connection: String) async throws -> StoredTokens? { kept.withLock { $0 } }

    func keep(_ tokens: StoredTokens, of connection: String) async throws { kept.withLock { $0 = tokens } }
}
