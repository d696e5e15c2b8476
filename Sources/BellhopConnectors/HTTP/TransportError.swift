public import BellhopCore

/// Why a request got no complete answer.
public struct TransportError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// No connection: unknown host, nothing listens, no route.
        case unreachable
        case timeout
        /// The TLS handshake failed: untrusted certificate, or no common protocol.
        case tls
        /// The connection ended before the answer did.
        case cut
        /// The answer is larger than `max_body`.
        case tooLarge
        /// The request is invalid.
        case badRequest
        /// The task was cancelled.
        case cancelled
    }

    public var kind: Kind
    /// False if the other side certainly never received the whole request.
    public var mayHaveArrived: Bool
    /// One sentence that names host and port and holds no secret.
    public var message: String

    public init(_ kind: Kind, mayHaveArrived: Bool, _ message: String) {
        self.kind = kind
        self.mayHaveArrived = mayHaveArrived
        self.message = message
    }

    /// The failure this means: a write that may have arrived has an unknown outcome, anything else may be retried.
    public func failure(changesSomething: Bool) -> Failure {
        let again: Failure.Remedy = changesSomething && mayHaveArrived ? .unknownOutcome : .retry(after: nil)
        return switch kind {
        case .unreachable: Failure(.unreachable, again, message)
        case .timeout: Failure(.timeout, again, message)
        case .tls: Failure(.tls, again, message)
        case .cut: Failure(.cut, again, message)
        case .tooLarge: Failure(.tooLarge, changesSomething ? .unknownOutcome : .giveUp, message)
        case .badRequest: Failure(.badArguments, .giveUp, message)
        case .cancelled: Failure(.interrupted, again, message)
        }
    }
}
