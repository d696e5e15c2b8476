import BellhopCore
import CLibCurl
import Glibc
import Synchronization

/// A mail server, and how to send mail through it.
struct SMTPConfiguration: Sendable, Hashable, CustomStringConvertible {
    var address: SMTPAddress
    /// Whether STARTTLS is required: always for other machines, unless TLS begins with the first byte.
    var upgrades: Bool
    var login: Login?
    /// A PEM file with authorities to trust besides the system's.
    var ca: String?
    /// For the whole dialogue.
    var timeout: Duration
    /// The name with which the client greets the server (EHLO).
    var helloName: String

    struct Login: Sendable, Hashable {
        var username: String
        var password: String
    }

    /// Only the address: the rest may hold secrets.
    var description: String { "SMTPConfiguration(\(address.place))" }
}

/// The end of a dialogue with a mail server.
struct SMTPEnding: Sendable, Hashable {
    enum Cause: Sendable, Hashable {
        case completed
        case unknownHost, unreachable, timeout
        /// TLS is required and the server does not offer it.
        case noTLS
        case tls
        case untrustedCertificate
        /// The CA file cannot be read.
        case badAuthorities
        case loginRefused
        case cancelled
        /// The connection ended, or the server violated the protocol or refused a command; see the dialogue.
        case cut
    }

    var cause: Cause
    var transcript: SMTPTranscript
}

/// One dialogue with a mail server, by libcurl on a thread of its own, so that it does not block Swift's threads.
///
/// A class over a lock, because the library's thread and the task that may be cancelled share it.
final class SMTPTransfer: Sendable {
    /// The work after the login.
    enum Work: Sendable {
        case send(from: String, to: [String], mail: [UInt8])
        /// Only a NOOP.
        case tryLogin
    }

    private struct State {
        var transcript = SMTPTranscript()
        var offset = 0
        var isCancelled = false
    }

    private let curl: CurlLibrary
    private let configuration: SMTPConfiguration
    private let work: Work
    private let state = Mutex(State())

    init(_ configuration: SMTPConfiguration, _ work: Work, with curl: CurlLibrary) {
        self.configuration = configuration
        self.work = work
        self.curl = curl
    }

    /// Talks to the server; ends within a second if the task is cancelled.
    func run() async -> SMTPEnding {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Cleaning up may wait for DNS, so the result is passed on first.
                let isStarted = Self.onOwnThread { self.transfer { continuation.resume(returning: $0) } }
                if !isStarted { continuation.resume(returning: ending(.unreachable)) }
            }
        } onCancel: {
            state.withLock { $0.isCancelled = true }
        }
    }

    private func transfer(then finish: (SMTPEnding) -> Void) {
        guard let easy = curl.easyInit() else { return finish(ending(.cut)) }
        defer { curl.easyCleanup(easy) }
        configure(easy)
        let recipients = recipientList()
        defer { curl.listFree(recipients) }
        if let recipients { curl.set(easy, CURLOPT_MAIL_RCPT, UnsafeRawPointer(recipients)) }
        finish(ending(Self.cause(curl.easyPerform(easy))))
    }

    private func ending(_ cause: SMTPEnding.Cause) -> SMTPEnding {
        SMTPEnding(cause: cause, transcript: state.withLock { $0.transcript })
    }

    // MARK: Options

    private func configure(_ easy: CurlLibrary.Handle) {
        // libcurl takes the name for EHLO from the path.
        curl.set(easy, CURLOPT_URL, configuration.address.text + "/" + configuration.helloName)
        curl.set(easy, CURLOPT_NOSIGNAL, 1)
        curl.set(easy, CURLOPT_PROXY, "")
        curl.set(easy, CURLOPT_TIMEOUT_MS, milliseconds(configuration.timeout))
        // In seconds. The library's default is 60 in some versions.
        curl.set(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, (milliseconds(configuration.timeout) + 999) / 1000)
        // Two repetitions of the first packet take about ten seconds. The library's own limit for connecting would include the greeting
        // and the login, which some servers delay.
        curl.setSocketOptions(easy) { _, socket, _ in
            var repetitions: Int32 = 2
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_SYNCNT, &repetitions, socklen_t(MemoryLayout<Int32>.size))
            return CURL_SOCKOPT_OK
        }
        if configuration.upgrades { curl.set(easy, CURLOPT_USE_SSL, Int(CURLUSESSL_ALL.rawValue)) }
        curl.set(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let ca = configuration.ca {
            curl.set(easy, CURLOPT_CAINFO, ca)
            curl.set(easy, CURLOPT_CAPATH, "/etc/ssl/certs")
        }
        if let login = configuration.login {
            curl.set(easy, CURLOPT_USERNAME, login.username)
            curl.set(easy, CURLOPT_PASSWORD, login.password)
            curl.set(easy, CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN")
        }
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        curl.set(easy, CURLOPT_VERBOSE, 1)
        curl.set(easy, CURLOPT_DEBUGDATA, context)
        curl.setDebugger(easy) { _, type, bytes, count, context in
            guard let context, let bytes else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: count)
            Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue().note(type, line)
            return 0
        }
        curl.set(easy, CURLOPT_NOPROGRESS, 0)
        curl.set(easy, CURLOPT_XFERINFODATA, context)
        // Called at least once a second.
        curl.setProgress(easy) { context, _, _, _, _ in
            guard let context else { return 0 }
            return Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }
        switch work {
        case .send(let from, _, let mail):
            curl.set(easy, CURLOPT_MAIL_FROM, "<\(from)>")
            // The other recipients get the mail even if one is refused.
            curl.set(easy, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1)
            curl.set(easy, CURLOPT_UPLOAD, 1)
            curl.setSize(easy, CURLOPT_INFILESIZE_LARGE, mail.count)
            curl.set(easy, CURLOPT_READDATA, context)
            curl.setReader(easy) { place, size, count, context in
                guard let context, let place else { return 0 }
                let room = UnsafeMutableRawBufferPointer(start: place, count: size * count)
                return Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue().read(into: room)
            }
        case .tryLogin:
            curl.set(easy, CURLOPT_CUSTOMREQUEST, "NOOP")
            curl.set(easy, CURLOPT_NOBODY, 1)
        }
    }

    private func recipientList() -> UnsafeMutablePointer<curl_slist>? {
        guard case .send(_, let recipients, _) = work else { return nil }
        return recipients.reduce(nil) { list, recipient in curl.listAppend(list, "<\(recipient)>") }
    }

    private func milliseconds(_ duration: Duration) -> Int { max(Int(duration.wholeMilliseconds), 1) }

    // MARK: What the library reports

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    private func note(_ type: curl_infotype, _ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            switch type {
            case CURLINFO_HEADER_OUT: state.transcript.sent(bytes)
            case CURLINFO_HEADER_IN: state.transcript.received(bytes)
            default: break
            }
        }
    }

    private func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        guard case .send(_, _, let mail) = work else { return 0 }
        return state.withLock { state in
            let part = mail[state.offset...].prefix(room.count)
            room.copyBytes(from: part)
            state.offset += part.count
            if state.offset == mail.count { state.transcript.mailWasSent() }
            return part.count
        }
    }

    private static func cause(_ code: CURLcode) -> SMTPEnding.Cause {
        switch code {
        case CURLE_OK: .completed
        case CURLE_COULDNT_RESOLVE_HOST: .unknownHost
        case CURLE_COULDNT_CONNECT: .unreachable
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_USE_SSL_FAILED: .noTLS
        case CURLE_PEER_FAILED_VERIFICATION: .untrustedCertificate
        case CURLE_SSL_CACERT_BADFILE: .badAuthorities
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND: .tls
        case CURLE_LOGIN_DENIED: .loginRefused
        case CURLE_ABORTED_BY_CALLBACK: .cancelled
        default: .cut
        }
    }

    // MARK: The thread

    /// Runs work on a new thread, because the library's DNS lookups and TLS may block for as long as the network does. False if
    /// the system has no thread left.
    private static func onOwnThread(_ work: @escaping @Sendable () -> Void) -> Bool {
        final class Box: Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        let box = Unmanaged.passRetained(Box(work))
        var thread = pthread_t()
        let failed = pthread_create(
            &thread, nil,
            { box in
                if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().work() }
                return nil
            }, box.toOpaque())
        guard failed == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
