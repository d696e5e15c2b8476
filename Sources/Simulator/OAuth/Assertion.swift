import BellhopCore
import Crypto
import CryptoExtras

/// The claims of a signed assertion (RFC 7523).
struct Assertion: Sendable {
    var issuer: String
    var subject: String
    var audience: String
    /// Seconds since 1970 UTC.
    var expires: Int64
    var id: String

    /// Nil if it is not signed by the owner of that key, or lacks claims.
    init?(_ text: String, publicKey: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            Self.isSigned(Array("\(parts[0]).\(parts[1])".utf8), signature, header["alg"]?.asString ?? "", publicKey),
            let expires = claims["exp"]?.asWhole
        else { return nil }
        issuer = claims["iss"]?.asString ?? ""
        subject = claims["sub"]?.asString ?? ""
        audience = claims["aud"]?.asString ?? ""
        id = claims["jti"]?.asString ?? ""
        self.expires = Int64(expires)
    }

    private static func json(_ part: Substring) -> JSON? { Base64URL.decode(part).flatMap { try? JSON.parse($0) } }

    private static func isSigned(_ data: [UInt8], _ signature: [UInt8], _ algorithm: String, _ pem: String) -> Bool {
        do {
            switch algorithm {
            case "ES256":
                return try P256.Signing.PublicKey(pemRepresentation: pem)
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA256.hash(data: data))
            case "ES384":
                return try P384.Signing.PublicKey(pemRepresentation: pem)
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA384.hash(data: data))
            case "ES512":
                return try P521.Signing.PublicKey(pemRepresentation: pem)
                    .isValidSignature(.init(rawRepresentation: signature), for: SHA512.hash(data: data))
            default: break
            }
            let key = try _RSA.Signing.PublicKey(pemRepresentation: pem)
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return switch algorithm {
            case "RS256": key.isValidSignature(signature, for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5)
            case "RS384": key.isValidSignature(signature, for: SHA384.hash(data: data), padding: .insecurePKCS1v1_5)
            case "RS512": key.isValidSignature(signature, for: SHA512.hash(data: data), padding: .insecurePKCS1v1_5)
            default: false
            }
        } catch {
            return false
        }
    }
}
