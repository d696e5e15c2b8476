import BellhopCore

/// Makes signed assertions (RFC 7523) in place of a password: each is valid once and for a short time.
public struct JWTAssertion: Sendable {
    var key: SigningKey
    var keyID: String?
    var issuer: String
    var audience: String
    public var subject: String

    /// How long an assertion is valid. Servers tolerate clock differences of this size.
    static let life = Duration.seconds(300)

    /// A new assertion. `id` must be different each time: servers refuse one they have seen.
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
