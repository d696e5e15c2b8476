import BellhopCore
import Crypto

/// A signature in a header field: an HMAC of the body, or of a text with the body and a timestamp.
///
/// GitHub: `header: X-Hub-Signature-256`, `prefix: "sha256="`. Slack: `header: X-Slack-Signature`, `prefix: "v0="`,
/// `timestamp: {header: X-Slack-Request-Timestamp, signed: "v0:{timestamp}:{body}"}`. Stripe: `header: Stripe-Signature`,
/// `prefix: "v1="`, `timestamp: {in: "t=", signed: "{timestamp}.{body}"}`.
public struct SignatureCheck: Sendable {
    public enum Algorithm: String, Sendable, CaseIterable {
        case sha1, sha256, sha512

        /// The authentication code that a signer sends.
        public func code(of signed: [UInt8], key: [UInt8]) -> [UInt8] {
            let key = SymmetricKey(data: key)
            return switch self {
            case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: signed, using: key))
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: signed, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: signed, using: key))
            }
        }

        /// Takes the same time for every code of the right length.
        func isValid(_ code: [UInt8], of signed: [UInt8], key: [UInt8]) -> Bool {
            let key = SymmetricKey(data: key)
            return switch self {
            case .sha1: HMAC<Insecure.SHA1>.isValidAuthenticationCode(code, authenticating: signed, using: key)
            case .sha256: HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key)
            case .sha512: HMAC<SHA512>.isValidAuthenticationCode(code, authenticating: signed, using: key)
            }
        }
    }

    public enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

    public struct TimestampRule: Sendable {
        public enum Place: Sendable {
            case header(String)
            /// An element of the signature's own header, which begins like this: `t=`. Elements are separated by commas.
            case element(String)
        }

        public var place: Place
        /// What is signed, with `{timestamp}` and `{body}`.
        public var signed: String
        public var tolerance: Duration

        public init(_ place: Place, signed: String, tolerance: Duration = InboundKey.tolerance) {
            self.place = place
            self.signed = signed
            self.tolerance = tolerance
        }
    }

    /// Several while a secret is replaced.
    public var keys: [[UInt8]]
    public var header: String
    public var algorithm: Algorithm
    public var encoding: Encoding
    public var prefix: String
    public var timestamp: TimestampRule?

    public init(
        keys: [[UInt8]], header: String, algorithm: Algorithm = .sha256, encoding: Encoding = .hex, prefix: String = "",
        timestamp: TimestampRule? = nil
    ) {
        self.keys = keys
        self.header = header
        self.algorithm = algorithm
        self.encoding = encoding
        self.prefix = prefix
        self.timestamp = timestamp
    }

    func check(_ request: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> InboundKey.Proof {
        let (time, codes) = try parts(of: request, at: now)
        let signed = timestamp.map { Self.filled($0.signed, time, request.body) } ?? request.body
        let isSigned = keys.reduce(false) { isSigned, key in
            codes.reduce(isSigned) { algorithm.isValid($1, of: signed, key: key) || $0 }
        }
        guard isSigned else { throw InboundAnswer(401, "The signature is wrong.") }
        return timestamp == nil ? .body : .timed(signed)
    }

    /// The signed time, empty if no time is signed, and the signatures. Throws 401 if they are missing or the time is too old.
    func parts(of head: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> (time: String, codes: [[UInt8]]) {
        guard let value = head.value(header) else { throw InboundAnswer(401, head.problem(with: header)) }
        var elements = [Substring(value)]
        var time: String?
        if let timestamp {
            switch timestamp.place {
            case .header(let name):
                time = head.value(name)
                if time == nil { throw InboundAnswer(401, head.problem(with: name)) }
            case .element(let start):
                elements = value.split(separator: ",").map { $0.drop { $0 == " " } }
                let times = elements.filter { $0.hasPrefix(start) }
                time = times.count == 1 ? String(times[0].dropFirst(start.count)) : nil
            }
            guard let time else { throw InboundAnswer(401, "The timestamp is missing.") }
            try InboundKey.checkAge(time, timestamp.tolerance, at: now)
        }
        return (time ?? "", elements.filter { $0.hasPrefix(prefix) }.compactMap { decoded($0.dropFirst(prefix.count)) })
    }

    private func decoded(_ text: Substring) -> [UInt8]? {
        switch encoding {
        case .hex: Hexadecimal.bytes(text)
        case .base64: Base64.decode(text, padding: .required)
        }
    }

    /// The signed bytes. Placeholders within the body stay as they are.
    private static func filled(_ template: String, _ time: String, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            bytes += rest[..<open].utf8
            rest = rest[open...]
            if rest.hasPrefix("{timestamp}") {
                bytes += time.utf8
                rest = rest.dropFirst("{timestamp}".count)
            } else if rest.hasPrefix("{body}") {
                bytes += body
                rest = rest.dropFirst("{body}".count)
            } else {
                bytes.append(UInt8(ascii: "{"))
                rest = rest.dropFirst()
            }
        }
        return bytes + rest.utf8
    }
}
