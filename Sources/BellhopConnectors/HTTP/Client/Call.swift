import BellhopCore
import NIOCore
import NIOHTTP1

/// What a request sends.
struct CallRequest: Sendable {
    /// A server. Requests to the same one share its sockets.
    struct Origin: Sendable, Hashable {
        var host: String
        var port: Int
        var isSecure: Bool
    }

    let origin: Origin
    let head: HTTPRequestHead
    let body: ByteBuffer?
    let progress: Progress
    let deadline: NIODeadline
    /// Whether it may be sent again if a socket that was idle before ends without an answer, as when the server closes it just then.
    let isRepeatable: Bool
}

/// Reads an answer as it arrives, on the client's thread.
protocol AnswerReader: AnyObject {
    /// - Throws: if the answer must not be read any further.
    func read(_ head: HTTPResponseHead, of call: Call) throws
    func read(_ part: ByteBuffer) throws
    /// The whole answer, or the error without one.
    func end(_ error: (any Error)?) -> Result<HTTPResponse, any Error>
    /// How long to wait for a rest of the answer that does not come at once; nil for the request's deadline.
    var patience: TimeAmount? { get }
    /// For a reader that may be slower than the server: how many parts it has yet to process. The socket reads on when there are
    /// none, and when asked (``Call/readOn()``). Nil for a reader that processes each part at once.
    var backlog: Int? { get }
}

extension AnswerReader {
    var patience: TimeAmount? { nil }
    var backlog: Int? { nil }
}

/// One request from its start to its end. Used only on its client's thread.
final class Call {
    enum Stage {
        case waitsForSocket, connects, tunnels, shakesHands, sent, ended
    }

    let request: CallRequest
    let reader: any AnswerReader
    var stage = Stage.waitsForSocket
    /// The socket that sends it.
    weak var socket: ClientSocket?
    private var timer: Scheduled<Void>?
    private var isCutShort = false
    private let completion: (Result<HTTPResponse, any Error>) -> Void

    init(
        _ request: CallRequest, _ reader: any AnswerReader, completion: @escaping (Result<HTTPResponse, any Error>) -> Void
    ) {
        (self.request, self.reader, self.completion) = (request, reader, completion)
    }

    var hasEnded: Bool { stage == .ended }

    /// Ends it earlier than at its deadline if its reader needs no more.
    func limitRest(on loop: any EventLoop) {
        guard !isCutShort, let patience = reader.patience else { return }
        isCutShort = true
        limitTime(on: loop, to: min(request.deadline, NIODeadline.now() + patience))
    }

    func limitTime(on loop: any EventLoop, to deadline: NIODeadline) {
        timer?.cancel()
        timer = loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in self?.runOut() }
    }

    private func runOut() {
        let error: ClientError =
            switch stage {
            case .waitsForSocket: .noFreeSocket
            case .connects: .connectTimeout
            case .tunnels: .proxyTimeout
            case .shakesHands: .handshakeTimeout
            case .sent, .ended: .deadline
            }
        end(error)
    }

    /// Ends it with the whole answer, or with an error. A socket whose call failed is closed.
    func end(_ error: (any Error)? = nil) {
        guard stage != .ended else { return }
        let socket = socket
        stage = .ended
        timer?.cancel()
        timer = nil
        self.socket = nil
        if error != nil { socket?.abandon(self) }
        completion(reader.end(error))
    }

    /// Reads more of the answer, for a reader with a backlog.
    func readOn() { socket?.readOn() }
}

/// The errors of the client itself.
enum ClientError: Error {
    case noFreeSocket, connectTimeout, handshakeTimeout, proxyTimeout, deadline
    /// The connection ended before the answer did.
    case cut
    /// The status is not one of HTTP's.
    case noStatus
    case shutDown
    /// TLS through a proxy with an address instead of a name: the TLS library would compare the certificate with the proxy's address.
    case unverifiable
}
