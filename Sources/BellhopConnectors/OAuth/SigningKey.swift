import BellhopCore
import BellhopFiles
import Crypto
import CryptoExtras

/// A private key that signs assertions. Never prints itself.
public struct SigningKey: Sendable, Confidential {
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        case rs256 = "RS256"
        case rs384 = "RS384"
        case rs512 = "RS512"
        case es256 = "ES256"
        case es384 = "ES384"
        case es512 = "ES512"
    }

    private enum Key: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case p521(P521.Signing.PrivateKey)
    }

    public let algorithm: Algorithm
    private let key: Key
    let fingerprint: String

    init(pemFile path: String, algorithm: Algorithm) throws(InvalidValue) {
        let bytes = try rethrowing(as: { InvalidValue(message: "The key \(path) cannot be read: \($0.text).") }) {
            () throws(SystemError) in
            // More than any key has.
            try Descriptor.read(at: path, atMost: 1 << 16)
        }
        try self.init(pem: String(decoding: bytes, as: UTF8.self), algorithm: algorithm, from: path)
    }

    init(pem: String, algorithm: Algorithm, from path: String) throws(InvalidValue) {
        if pem.contains("ENCRYPTED") {
            throw InvalidValue(
                message: "The key \(path) has a password; Bellhop needs one without, in a file that only it can read.")
        }
        self.algorithm = algorithm
        fingerprint = Base64URL.encode(Array(SHA256.hash(data: Array(pem.utf8))))
        do {
            switch algorithm {
            case .rs256, .rs384, .rs512: key = .rsa(try _RSA.Signing.PrivateKey(pemRepresentation: pem))
            case .es256: key = .p256(try P256.Signing.PrivateKey(pemRepresentation: pem))
            case .es384: key = .p384(try P384.Signing.PrivateKey(pemRepresentation: pem))
            case .es512: key = .p521(try P521.Signing.PrivateKey(pemRepresentation: pem))
            }
        } catch {
            let wanted =
                switch algorithm {
                case .rs256, .rs384, .rs512: "an RSA key of at least 2048 bits"
                case .es256: "a key on the curve P-256"
                case .es384: "a key on the curve P-384"
                case .es512: "a key on the curve P-521"
                }
            throw InvalidValue(
                message: "\(path) is not a private key for \(algorithm.rawValue): that needs \(wanted), in a PEM file.")
        }
    }

    /// The signature according to RFC 7518.
    func sign(_ text: String) throws -> [UInt8] {
        let data = Array(text.utf8)
        switch key {
        case .p256(let key): return Array(try key.signature(for: SHA256.hash(data: data)).rawRepresentation)
        case .p384(let key): return Array(try key.signature(for: SHA384.hash(data: data)).rawRepresentation)
        case .p521(let key): return Array(try key.signature(for: SHA512.hash(data: data)).rawRepresentation)
        case .rsa(let key):
            let padding = _RSA.Signing.Padding.insecurePKCS1v1_5
            let signature =
                switch algorithm {
                case .rs384: try key.signature(for: SHA384.hash(data: data), padding: padding)
                case .rs512: try key.signature(for: SHA512.hash(data: data), padding: padding)
                case .rs256, .es256, .es384, .es512: try key.signature(for: SHA256.hash(data: data), padding: padding)
                }
            return Array(signature.rawRepresentation)
        }
    }

    public var description: String { "SigningKey(\(algorithm.rawValue))" }
}

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
        let signed = Base64URL.encode(JSON.object(header).encoded()) + "." + Base64URL.encode(JSON.object(claims).encoded())
        return signed + "." + Base64URL.encode(try key.sign(signed))
    }
}
