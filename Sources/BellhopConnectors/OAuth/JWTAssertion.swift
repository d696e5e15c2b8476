import BellhopCore

/// What makes the signed assertions (RFC 7523) that stand for a password: each is good once and for a short while.
public struct JWTAssertion: Sendable {
    var key: SigningKey
    var keyID: String?
    var issuer: String
    var audience: String
    public var subject: String

    /// How long one counts. Servers allow for clocks that differ by as much.
    static let life = Duration.seconds(300)

    /// An assertion made now. `id` must be another each time: servers refuse one that they have seen.
    func text(id: String, at now: Timestamp) throws -> String {
        var header: JSON.Object = ["alg": .string(key.algorithm.rawValue), "typ": "JWT"]
        if let keyID { header["kid"] = .string(keyID) }
        let claims: JSON.Object = [
            "iss": .string(issuer), "sub": .string(subject), "aud": .string(audience), "iat": .int(now.seconds),
            "exp": .int((now + Self.life).seconds), "jti": .string(id),
        ]
        let signed =
            Base64URL.encode(JSON.object(header).encoded()) + "." + Base64URL.encode(JSON.object(claims).encoded())
        return signed + "." + Base64URL.encode(try key.sign(signed))
    }
}
