public import BellhopCore
import Crypto

/// Signs requests so that their receiver can authenticate the sender (Standard Webhooks 1.0, symmetric scheme).
public struct WebhookSigner: Sendable {
    /// Why a text is not a valid signing secret.
    public struct Problem: Error, Sendable, Hashable {
        /// One sentence without the secret.
        public var message: String
    }

    private let key: SymmetricKey

    /// - Parameter secret: `whsec_` and the Base64 of 24 to 64 random bytes, as in the specification.
    public init(secret: String) throws(Problem) {
        let prefix = "whsec_"
        guard secret.hasPrefix(prefix), let bytes = Base64.decode(secret.dropFirst(prefix.count)) else {
            throw Problem(message: "A signing secret is whsec_ and the Base64 of 24 to 64 random bytes.")
        }
        guard 24...64 ~= bytes.count else {
            throw Problem(message: "A signing secret has 24 to 64 bytes; this one has \(bytes.count).")
        }
        key = SymmetricKey(data: bytes)
    }

    /// A new signing secret of 32 random bytes.
    public static func makeSecret() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { "whsec_" + Base64.encode(Array($0)) }
    }

    /// The header fields for a body sent now. `id` must not contain a full stop.
    public func headers(id: String, body: [UInt8], at now: Timestamp) -> HeaderFields {
        let stamp = String(now.seconds)
        let signed = Array("\(id).\(stamp).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: key)
        return ["webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": "v1," + Base64.encode(Array(code))]
    }
}
