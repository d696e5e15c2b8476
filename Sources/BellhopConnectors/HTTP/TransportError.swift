public import BellhopCore

/// Why a request got no whole answer.
public struct TransportError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// No connection: no such host, nobody listens, no way there.
        case unreachable
        case timeout
        /// No trust, or no common language, in the TLS handshake.
        case tls
        /// The connection ended before the answer did.
        case cut
        /// The answer is larger than `max_body`.
        case tooLarge
        /// The request cannot be sent at all as it is.
        case badRequest
        /// The task was cancelled.
        case cancelled
    }

    public var kind: Kind
    /// False when it is certain that the other side never had the whole request.
    public var mayHaveArrived: Bool
    /// One sentence that names host and port and holds no secret.
    public var message: String

    public init(_ kind: Kind, mayHaveArrived: Bool, _ message: String) {
        self.kind = kind
        self.mayHaveArrived = mayHaveArrived
        self.message = message
    }

    /// What this means for whoever asked: a write that may have arrived has an unknown outcome, all else may be tried again.
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
