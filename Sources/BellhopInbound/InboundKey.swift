public import BellhopCore
import Crypto

/// How an endpoint authenticates its sender. Secrets of requests are compared in constant time.
public enum InboundKey: Sendable, Equatable, CustomStringConvertible {
    case signature(SignatureCheck)
    /// The accepted secrets of Standard Webhooks: more than one while a secret is rotated.
    case standardWebhooks([[UInt8]])
    case bearer([String])
    case basic(username: String, password: String)

    /// Only its kind: the rest is secret.
    public var description: String {
        switch self {
        case .signature: "InboundKey(signature)"
        case .standardWebhooks: "InboundKey(standard webhooks)"
        case .bearer: "InboundKey(bearer)"
        case .basic: "InboundKey(basic)"
        }
    }

    /// The value of `WWW-Authenticate` in a refusal; nil for signatures.
    var challenge: String? {
        switch self {
        case .signature, .standardWebhooks: nil
        case .bearer: "Bearer realm=\"Bellhop\""
        case .basic: "Basic realm=\"Bellhop\""
        }
    }

    /// The proof of the sender, if the head alone has it. Throws 401 if the head shows that the request will be refused: its body is
    /// then not read.
    func checkHead(_ head: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> Proof? {
        switch self {
        case .bearer, .basic: return try check(head, at: now)
        case .signature(let check): _ = try check.parts(of: head, at: now)
        case .standardWebhooks: _ = try Self.standardWebhooksParts(of: head, at: now)
        }
        return nil
    }

    /// The part of a request that its signature protects.
    public enum Proof: Sendable, Hashable {
        /// Nothing: the request contains the secret itself, which an eavesdropper could reuse.
        case secret
        /// The body. An eavesdropper could replay it with other header fields.
        case body
        /// These bytes, which contain the body and a time. An eavesdropper could replay the request until the time is too old.
        case timed([UInt8])
        /// The body, the time and the id, `webhook-id`.
        case identified
    }

    /// Throws 401 if the sender does not have the secret, or if the request is too old.
    @discardableResult
    public func check(_ request: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> Proof {
        switch self {
        case .signature(let check): return try check.check(request, at: now)
        case .standardWebhooks(let keys):
            let (start, codes) = try Self.standardWebhooksParts(of: request, at: now)
            try SignatureCheck.Algorithm.sha256.verify(codes, of: Array(start.utf8) + request.body, keys: keys)
            return .identified
        case .bearer(let tokens):
            let given = try Self.credentials(request, scheme: "bearer") ?? ""
            guard tokens.reduce(false, { Self.isSame(given, $1) || $0 }) else {
                throw InboundAnswer(401, "The bearer token is missing or wrong.")
            }
            return .secret
        case .basic(let username, let password):
            let given = try Self.credentials(request, scheme: "basic").flatMap { Base64.decode($0, padding: .required) } ?? []
            guard Self.isSame(given, Array("\(username):\(password)".utf8)) else {
                throw InboundAnswer(401, "The name or the password is missing or wrong.")
            }
            return .secret
        }
    }

    /// The default for the largest clock difference and the largest age of a request.
    public static let tolerance = Duration.seconds(300)

    /// The signed text before the body, and the signatures. Standard Webhooks 1.0: `v1,BASE64` of HMAC-SHA256 over
    /// `id.timestamp.body`; spaces separate several signatures.
    private static func standardWebhooksParts(
        of head: InboundRequest, at now: Timestamp
    ) throws(InboundAnswer) -> (start: String, codes: [[UInt8]]) {
        func value(_ name: String) throws(InboundAnswer) -> String {
            guard let value = head.value(name) else { throw InboundAnswer(401, head.problem(with: name)) }
            return value
        }
        let (id, time) = (try value("webhook-id"), try value("webhook-timestamp"))
        let signatures = try value("webhook-signature")
        try checkAge(time, tolerance, at: now)
        let codes = signatures.split(separator: " ").filter { $0.hasPrefix("v1,") }.compactMap {
            Base64.decode($0.dropFirst(3), padding: .required)
        }
        return ("\(id).\(time).", codes)
    }

    /// Throws if a time in seconds since 1970 is too far from now.
    static func checkAge(_ text: String, _ tolerance: Duration, at now: Timestamp) throws(InboundAnswer) {
        guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else {
            throw InboundAnswer(401, "The timestamp is not a number of seconds since 1970.")
        }
        let age = now - Timestamp(seconds: seconds)
        guard age <= tolerance, age >= .zero - tolerance else {
            throw InboundAnswer(401, "The timestamp is too old, or the clocks differ.")
        }
    }

    private static func credentials(_ request: InboundRequest, scheme: String) throws(InboundAnswer) -> String? {
        guard let value = request.value("Authorization") else {
            throw InboundAnswer(401, request.problem(with: "Authorization"))
        }
        guard let blank = value.firstIndex(of: " "), value[..<blank].lowercased() == scheme else { return nil }
        return String(value[value.index(after: blank)...].drop { $0 == " " })
    }

    private static func isSame(_ given: String, _ expected: String) -> Bool { isSame(Array(given.utf8), Array(expected.utf8)) }

    /// Compares digests, in constant time: the duration reveals neither the length of the secret nor the first difference.
    private static func isSame(_ given: [UInt8], _ expected: [UInt8]) -> Bool {
        SHA256.hash(data: given) == SHA256.hash(data: expected)
    }
}
