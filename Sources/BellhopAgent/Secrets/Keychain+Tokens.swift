public import BellhopConnectors
import BellhopCore

/// The keychain holds the tokens from `bellhop login`, updated whenever a server replaces a refresh token.
extension Keychain: TokenKeeper {
    public func tokens(of connection: String) async throws -> KeptTokens? { try storedTokens(connection) }

    /// Stores them in the section of the old tokens, which are useless now.
    public func keep(_ tokens: KeptTokens, of connection: String) async throws {
        let isOwn = try hasOwnLogin(connection)
        let isShared = try isShared(connection)
        try (isShared && !isOwn ? of(nil) : self).setTokens(connection, to: tokens)
    }

    public func storedTokens(_ connection: String) throws(SecretError) -> KeptTokens? {
        guard let kept = try section(of: connection)["tokens"]?[connection], let origin = kept["origin"]?.asString else {
            return nil
        }
        var expires: Timestamp?
        if case .int(let micros)? = kept["expires"] { expires = Timestamp(microseconds: micros) }
        return KeptTokens(
            access: kept["access"]?.asString, expires: expires, refresh: kept["refresh"]?.asString,
            username: kept["username"]?.asString ?? "", origin: origin, mark: kept["mark"]?.asString ?? "",
            client: kept["client"]?.asObject.map { Settings($0) })
    }

    /// Nil removes them.
    public func setTokens(_ connection: String, to tokens: KeptTokens?) throws(SecretError) {
        let value = tokens.map { tokens in
            var members: JSON.Object = ["origin": .string(tokens.origin), "username": .string(tokens.username)]
            members["access"] = tokens.access.map(JSON.string)
            members["expires"] = tokens.expires.map { JSON.int($0.microseconds) }
            members["refresh"] = tokens.refresh.map(JSON.string)
            members["mark"] = tokens.mark.isEmpty ? nil : JSON.string(tokens.mark)
            members["client"] = tokens.client.map { JSON.object($0.values) }
            return JSON.object(members)
        }
        try set("tokens", connection, to: value)
    }
}
