public import BellhopCore
import NIOCore
import NIOExtras
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// The error of a request without a complete answer.
public struct TransportError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// No connection: unknown host, closed port, no route.
        case unreachable
        /// No connection, because this machine or this process has too many files open or too little memory.
        case exhausted
        case timeout
        /// The TLS handshake failed: untrusted certificate, or no common protocol.
        case tls
        /// The connection ended before the answer did.
        case cut
        /// The answer is larger than `max_body`.
        case tooLarge
        case badRequest
        case cancelled
    }

    public var kind: Kind
    /// False if the other side certainly never received the whole request.
    public var mayHaveArrived: Bool
    /// One sentence that names host and port and holds no secret.
    public var message: String
    /// Whether this machine does not trust the certificate's authority.
    public private(set) var isOfTrust = false

    public init(_ kind: Kind, mayHaveArrived: Bool, _ message: String) {
        (self.kind, self.mayHaveArrived, self.message) = (kind, mayHaveArrived, message)
    }

    /// Converts to a failure: a write that may have arrived has an unknown outcome, most other requests may be retried.
    public func failure(changesSomething: Bool) -> Failure {
        let again: Failure.Remedy = changesSomething && mayHaveArrived ? .unknownOutcome : .retry(after: nil)
        return switch kind {
        case .unreachable: Failure(.unreachable, again, message)
        // Says nothing about the other side.
        case .exhausted: Failure(.fileSystem, again, message)
        case .timeout: Failure(.timeout, again, message)
        case .tls: Failure(.tls, again, message)
        case .cut: Failure(.cut, again, message)
        case .tooLarge: Failure(.tooLarge, changesSomething ? .unknownOutcome : .giveUp, message)
        case .badRequest: Failure.badArguments(message)
        case .cancelled: Failure(.interrupted, again, message)
        }
    }
}

extension TransportError {
    /// Translates the libraries' errors. Errors while connecting happen before anything is sent.
    /// - Parameter proxy: the proxy used; if set, connection errors are about it.
    init(
        _ error: any Error, at address: HTTPAddress, through proxy: HTTPAddress? = nil, timeout: Duration, limit: Int,
        _ progress: Progress
    ) {
        let place = address.place
        let called = proxy.map { "the proxy \($0.place)" } ?? place
        // Either may have failed.
        let way = proxy.map { "\(place) through the proxy \($0.place)" } ?? place
        let arrived = progress.mayHaveArrived
        switch error {
        case let error as TransportError: self = error
        case let error as PrivateAddress.Refused: self.init(error, at: address)
        case is CancellationError: self.init(.cancelled, mayHaveArrived: arrived, "The request to \(place) was cancelled.")
        case is BodyTooLarge, NIOHTTPDecompression.DecompressionError.limit:
            self.init(
                .tooLarge, mayHaveArrived: true,
                "The answer of \(place) is larger than the \(Self.size(limit)) that max_body allows.")
        case is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
            self.init(.cut, mayHaveArrived: true, "The answer of \(place) is damaged: it cannot be decompressed.")
        case HTTPParserError.headerOverflow:
            self.init(.cut, mayHaveArrived: arrived, "The answer of \(way) has header fields that are too large.")
        case let error as HTTPParserError where error != .invalidEOFState:
            self.init(.cut, mayHaveArrived: arrived, Self.noHTTP(way))
        case let error as NIOConnectionError:
            if let refused = error.connectionErrors.lazy.compactMap({ $0.error as? PrivateAddress.Refused }).first {
                self.init(refused, at: address)
            } else {
                self.init(unreachable: error, called)
            }
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self.init(
                .tls, mayHaveArrived: arrived,
                "The certificate of \(place) is not for the name \(address.host): check the address.")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self.init(tlsError: error, place, mayHaveArrived: arrived)
        case let error as ClientError: self.init(error, place: place, called: called, way: way, timeout: timeout, progress)
        case let error as NIOHTTP1ProxyConnectHandler.Error:
            let isRefused = error == .proxyAuthenticationRequired()
            self.init(
                .unreachable, mayHaveArrived: false,
                Self.capitalised(called)
                    + (isRefused
                        ? " needs a (different) name and password to connect to \(place): write them in `proxy`, as http://name:password@host:port."
                        : " does not connect to \(place)."))
        case let error as ChannelError:
            if case .connectTimeout = error {
                self.init(.unreachable, mayHaveArrived: false, Self.silent(called))
            } else {
                self.init(.cut, mayHaveArrived: arrived, "The connection to \(way) was lost.")
            }
        // Not by its number: a connection in use can end with "no route to host" as well.
        case let error as IOError where !arrived: self.init(connecting: error, called)
        default: self.init(.cut, mayHaveArrived: arrived, "The connection to \(way) was lost before the answer was complete.")
        }
        // A request that was sent again may have arrived the first time, even if there was no connection the second time.
        if arrived { mayHaveArrived = true }
    }

    init(_ error: PrivateAddress.Refused, at address: HTTPAddress) {
        let (what, remedy) =
            switch error {
            case .address(let found): ("resolves to the private address \(found)", "set `allow_private: true` in the step")
            case .port(let ports):
                (
                    "has a port that is none of \(ports.map(String.init).joined(separator: ", "))",
                    "add the port to `ports` of the connection in `to`"
                )
            }
        self.init(
            .badRequest, mayHaveArrived: false,
            "\(address.place) \(what), and the host comes from a value: write the host in the rule, or \(remedy).")
    }

    private init(_ error: ClientError, place: String, called: String, way: String, timeout: Duration, _ progress: Progress) {
        let arrived = progress.mayHaveArrived
        switch error {
        case .noFreeSocket where !arrived:
            self.init(
                .timeout, mayHaveArrived: false,
                "The request to \(place) was not sent: all \(SocketPool.most) connections to it were in use for \(timeout.plain)."
            )
        case .connectTimeout: self.init(.unreachable, mayHaveArrived: false, Self.silent(called))
        case .handshakeTimeout: self.init(.tls, mayHaveArrived: false, "\(way) did not finish the TLS handshake.")
        case .proxyTimeout:
            self.init(.unreachable, mayHaveArrived: false, "\(Self.capitalised(called)) does not connect to \(place).")
        case .deadline, .noFreeSocket:
            let missing = progress.isAnswered ? "finish its answer" : "answer"
            self.init(.timeout, mayHaveArrived: arrived, "\(way) did not \(missing) within \(timeout.plain).")
        case .shutDown: self.init(.cancelled, mayHaveArrived: false, "The connection to \(place) is already shut down.")
        case .unverifiable:
            self.init(
                .tls, mayHaveArrived: false,
                "The certificate of \(place) cannot be verified through a proxy: write the server's name instead of its address.")
        case .noStatus: self.init(.cut, mayHaveArrived: arrived, Self.noHTTP(way))
        case .cut: self.init(.cut, mayHaveArrived: arrived, "\(way) closed the connection before the answer was complete.")
        }
    }

    private init(tlsError error: any Error, _ place: String, mayHaveArrived arrived: Bool) {
        let text = String(describing: error)
        if text.contains("uncleanShutdown") {
            self.init(.cut, mayHaveArrived: arrived, "\(place) closed the connection before the answer was complete.")
        } else if text.contains("CERTIFICATE_VERIFY_FAILED") || text.contains("unableToValidateCertificate") {
            self.init(
                .tls, mayHaveArrived: arrived,
                "This machine does not trust the certificate of \(place): it may have expired, or come from a private authority, which `ca` can name."
            )
            isOfTrust = true
        } else if text.contains("WRONG_VERSION_NUMBER") {
            self.init(.tls, mayHaveArrived: arrived, "\(place) does not speak TLS: check the address and its port.")
        } else if text.contains("PROTOCOL_VERSION") || text.contains("UNSUPPORTED_PROTOCOL") {
            self.init(
                .tls, mayHaveArrived: arrived,
                "\(place) offers only TLS older than 1.2, which is not safe: ask its operator to turn on TLS 1.2 or newer.")
        } else {
            self.init(.tls, mayHaveArrived: arrived, "No TLS connection to \(place): the handshake failed.")
        }
    }

    private init(unreachable error: NIOConnectionError, _ place: String) {
        guard let failure = error.connectionErrors.last?.error else {
            self.init(
                .unreachable, mayHaveArrived: false,
                "There is no host named \(error.host) (requested for \(place)); DNS does not know it or cannot be reached.")
            return
        }
        if case .connectTimeout? = failure as? ChannelError {
            self.init(.unreachable, mayHaveArrived: false, Self.silent(place))
        } else if let failure = failure as? IOError {
            self.init(connecting: failure, place)
        } else {
            self.init(.unreachable, mayHaveArrived: false, "No connection to \(place): it cannot be reached.")
        }
    }

    /// The error of a system call that makes or opens the connection.
    private init(connecting error: IOError, _ place: String) {
        self.init(
            error.isOfThisMachine ? .exhausted : .unreachable, mayHaveArrived: false,
            "No connection to \(place): \(Self.words(error)).")
    }

    private static func noHTTP(_ place: String) -> String {
        "The answer of \(place) is not valid HTTP: another program, or a broken intermediary, answers there."
    }

    private static func silent(_ called: String) -> String { "\(capitalised(called)) did not accept the connection in time." }

    private static func capitalised(_ called: String) -> String { called.hasPrefix("the ") ? "T" + called.dropFirst() : called }

    private static func words(_ error: IOError) -> String {
        switch error.errnoCode {
        case 111: "connection refused"  // ECONNREFUSED
        case 101, 113: "no route to host"  // ENETUNREACH, EHOSTUNREACH
        case 110: "it does not answer"  // ETIMEDOUT
        case 104: "it closed the connection"  // ECONNRESET
        case 24: "Bellhop may open no more files and connections, so raise its limit (`ulimit -n`)"  // EMFILE
        case 23: "this machine has too many open files"  // ENFILE
        case 12, 105: "this machine has too little memory"  // ENOMEM, ENOBUFS
        default: "error \(error.errnoCode)"
        }
    }

    /// As in a setting: `64MB`, or `64MiB` for a power of 1024.
    static func size(_ bytes: Int) -> String {
        for (unit, size) in [("MB", 1_000_000), ("MiB", 1 << 20), ("KB", 1000), ("KiB", 1 << 10)]
        where bytes >= size && bytes % size == 0 { return "\(bytes / size) \(unit)" }
        return "\(bytes) bytes"
    }
}

extension IOError {
    /// Errors that say nothing about the other side.
    fileprivate var isOfThisMachine: Bool { [12, 23, 24, 105].contains(errnoCode) }  // ENOMEM, ENFILE, EMFILE, ENOBUFS
}

extension Duration {
    /// For messages: `30 s`, `0.3 s`.
    var plain: String {
        let millis = wholeMilliseconds
        return millis % 1000 == 0 ? "\(millis / 1000) s" : "\(Double(millis) / 1000) s"
    }
}
