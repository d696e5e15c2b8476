import BellhopCore
import Crypto

/// A signature in a header field, or several separated by commas: an HMAC of the body, or of a text with the body and a timestamp.
///
/// *Requests from other systems* in the documentation has the settings for GitHub, Slack, Stripe and PagerDuty.
public struct SignatureCheck: Sendable, Equatable {
    public enum Algorithm: String, Sendable, CaseIterable {
        case sha1, sha256, sha512

        /// Throws 401 unless one of the codes is valid for one of the keys. Checks all of them, each in constant time.
        func verify(_ codes: [[UInt8]], of signed: [UInt8], keys: [[UInt8]]) throws(InboundAnswer) {
            let isSigned = keys.reduce(false) { isSigned, key in
                let key = SymmetricKey(data: key)
                let isValid =
                    switch self {
                    case .sha1: Self.isValid(codes, HMAC<Insecure.SHA1>.authenticationCode(for: signed, using: key))
                    case .sha256: Self.isValid(codes, HMAC<SHA256>.authenticationCode(for: signed, using: key))
                    case .sha512: Self.isValid(codes, HMAC<SHA512>.authenticationCode(for: signed, using: key))
                    }
                return isValid || isSigned
            }
            guard isSigned else { throw InboundAnswer(401, "The signature is wrong.") }
        }

        /// Whether one of the codes is the right one. That is computed only once, because a stranger may send thousands of codes with a
        /// large body.
        private static func isValid(_ codes: [[UInt8]], _ right: some MessageAuthenticationCode) -> Bool {
            codes.reduce(false) { right == $1 || $0 }
        }
    }

    public enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

    public struct TimestampRule: Sendable, Equatable {
        public enum Place: Sendable, Equatable {
            case header(String)
            /// The element of the signature's header field that begins with this text, such as `t=`.
            case element(String)
        }

        public var place: Place
        /// The template of the signed text, with `{timestamp}` and `{body}`.
        public var signed: String
        public var tolerance: Duration

        public init(_ place: Place, signed: String, tolerance: Duration = InboundKey.tolerance) {
            self.place = place
            self.signed = signed
            self.tolerance = tolerance
        }
    }

    /// More than one while a secret is rotated.
    public var keys: [[UInt8]]
    public var header: String
    public var algorithm = Algorithm.sha256
    public var encoding = Encoding.hex
    public var prefix = ""
    public var timestamp: TimestampRule?

    func check(_ request: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> InboundKey.Proof {
        let (time, codes) = try parts(of: request, at: now)
        let signed = timestamp.map { Self.filled($0.signed, time, request.body) } ?? request.body
        try algorithm.verify(codes, of: signed, keys: keys)
        return timestamp == nil ? .body : .timed(signed)
    }

    /// The signed time (empty if none is required) and the signatures. Throws 401 if one is missing or the time is too old.
    func parts(of head: InboundRequest, at now: Timestamp) throws(InboundAnswer) -> (time: String, codes: [[UInt8]]) {
        guard let value = head.value(header) else { throw InboundAnswer(401, head.problem(with: header)) }
        let elements = value.split(separator: ",").map { $0.drop { $0 == " " } }
        var time: String?
        if let timestamp {
            switch timestamp.place {
            case .header(let name):
                time = head.value(name)
                if time == nil { throw InboundAnswer(401, head.problem(with: name)) }
            case .element(let start):
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

    /// Fills the template. Placeholders in the body itself are not replaced.
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
