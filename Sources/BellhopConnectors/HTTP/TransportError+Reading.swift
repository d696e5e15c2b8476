import AsyncHTTPClient
import NIOCore
import NIOHTTPCompression
import NIOPosix
import NIOSSL

extension TransportError {
    /// Tells what the libraries below threw in our words. Errors that name the way to a connection happened before anything was sent.
    ///
    /// - Parameter proxy: through which the request went; then it is the proxy that did not take a connection.
    init(
        _ error: any Error, at address: HTTPAddress, through proxy: HTTPAddress? = nil, timeout: Duration, limit: Int,
        _ progress: Progress
    ) {
        let place = address.place
        let called = proxy.map { "the proxy \($0.place)" } ?? place
        let arrived = progress.mayHaveArrived
        switch error {
        case let error as TransportError:
            self = error
        case let error as PrivateAddress.Refused:
            self.init(error, at: address)
        case is CancellationError:
            self.init(.cancelled, mayHaveArrived: arrived, "The request to \(place) was called off.")
        case is BodyTooLarge, is NIOHTTPDecompression.DecompressionError:
            self.init(
                .tooLarge, mayHaveArrived: true,
                "The answer of \(place) is larger than the \(Self.size(limit)) that max_body allows.")
        case is Deadline.Passed:
            self.init(.timeout, mayHaveArrived: true, "\(place) did not finish its answer within \(timeout.plain).")
        case let error as NIOConnectionError:
            self.init(.unreachable, mayHaveArrived: false, Self.unreachable(error, called))
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(reading: error, place, progress)
        case let error as HTTPClientError:
            self.init(error, place: place, called: called, timeout: timeout, progress)
        case let error as ChannelError:
            if case .connectTimeout = error {
                self.init(.unreachable, mayHaveArrived: false, Self.silent(called))
            } else {
                self.init(.cut, mayHaveArrived: arrived, "The connection to \(place) broke off.")
            }
        case let error as IOError where error.isOfConnecting || (!progress.isAnswered && !arrived):
            self.init(.unreachable, mayHaveArrived: false, "No connection to \(called): \(Self.words(error)).")
        default:
            self.init(.cut, mayHaveArrived: arrived, "The connection to \(place) broke off before the answer was complete.")
        }
    }

    init(_ error: PrivateAddress.Refused, at address: HTTPAddress) {
        self.init(
            .badRequest, mayHaveArrived: false,
            "\(address.place) leads to \(error.address), which is private, and a value decided on this host: write the host in the rule, or say `allow_private: true` in the step."
        )
    }

    private init(_ error: HTTPClientError, place: String, called: String, timeout: Duration, _ progress: Progress) {
        let arrived = progress.mayHaveArrived
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout:
            self.init(.unreachable, mayHaveArrived: false, Self.silent(called))
        case .tlsHandshakeTimeout:
            self.init(.tls, mayHaveArrived: false, "\(place) did not finish the TLS handshake.")
        case .httpProxyHandshakeTimeout, .socksHandshakeTimeout, .invalidProxyResponse:
            self.init(.unreachable, mayHaveArrived: false, "\(Self.capitalised(called)) does not connect to \(place).")
        case .proxyAuthenticationRequired:
            self.init(
                .unreachable, mayHaveArrived: false,
                "\(Self.capitalised(called)) wants a name and a password, or others than it got, before it connects to \(place): write them into `proxy`, as http://name:password@host:port."
            )
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            self.init(.timeout, mayHaveArrived: arrived, "\(place) did not answer within \(timeout.plain).")
        case .cancelled:
            self.init(.cancelled, mayHaveArrived: arrived, "The request to \(place) was called off.")
        case .alreadyShutdown:
            self.init(.cancelled, mayHaveArrived: false, "The connection to \(place) is closed for good.")
        case .invalidURL, .emptyHost, .emptyScheme, .traceRequestWithBody, .invalidLocalAddress,
            .contentLengthMissing, .bodyLengthMismatch, .identityCodingIncorrectlyPresent:
            self.init(.badRequest, mayHaveArrived: false, "The request to \(place) is not one that can be sent.")
        default:
            self.init(.cut, mayHaveArrived: arrived, "\(place) closed the connection before the answer was complete.")
        }
    }

    private init(reading error: any Error, _ place: String, _ progress: Progress) {
        let text = String(describing: error)
        if text.contains("uncleanShutdown") {
            self.init(
                .cut, mayHaveArrived: progress.mayHaveArrived, "\(place) closed the connection before the answer was complete.")
        } else if text.contains("CERTIFICATE_VERIFY_FAILED") || text.contains("unableToValidateCertificate") {
            self.init(
                .tls, mayHaveArrived: progress.mayHaveArrived,
                "The certificate of \(place) is not one this machine trusts; a private authority can be named with ca:.")
        } else {
            self.init(.tls, mayHaveArrived: progress.mayHaveArrived, "No TLS connection to \(place): the two sides do not agree.")
        }
    }

    private static func unreachable(_ error: NIOConnectionError, _ place: String) -> String {
        if let failure = error.connectionErrors.last {
            if case .connectTimeout? = failure.error as? ChannelError { return silent(place) }
            let words = (failure.error as? IOError).map(words) ?? "it cannot be reached"
            return "No connection to \(place): \(words)."
        }
        return
            "There is no host of the name \(error.host) (asked for \(place)); the name service does not know it or cannot be reached."
    }

    private static func silent(_ called: String) -> String { "\(capitalised(called)) did not answer when it was called." }

    private static func capitalised(_ called: String) -> String {
        called.hasPrefix("the ") ? "T" + called.dropFirst() : called
    }

    private static func words(_ error: IOError) -> String {
        switch error.errnoCode {
        case 111: "nobody listens there"  // ECONNREFUSED
        case 101, 113: "there is no way there"  // ENETUNREACH, EHOSTUNREACH
        case 110: "it does not answer"  // ETIMEDOUT
        case 104: "it hung up"  // ECONNRESET
        default: "error \(error.errnoCode)"
        }
    }

    static func size(_ bytes: Int) -> String {
        bytes >= 1 << 20 && bytes % (1 << 20) == 0 ? "\(bytes >> 20) MB" : "\(bytes) bytes"
    }
}

extension IOError {
    /// Errors that connect(2) alone gives: nothing was sent, whatever the request.
    fileprivate var isOfConnecting: Bool { [101, 111, 113].contains(errnoCode) }  // ENETUNREACH, ECONNREFUSED, EHOSTUNREACH
}

extension Duration {
    /// For messages: `30 s`, `0.3 s`.
    var plain: String {
        let millis = nanoseconds / 1_000_000
        return millis % 1000 == 0 ? "\(millis / 1000) s" : "\(Double(millis) / 1000) s"
    }
}
