public import BellhopAgent
public import BellhopConnectors
public import BellhopCore
public import BellhopInbound
import Glibc
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The certificate and the key with which the console speaks HTTPS.
public struct ServerCertificate: Sendable {
    /// When the certificate expires.
    public let end: Timestamp
    let tls: TLSConfiguration

    /// Reads both files, and checks that the key belongs to the certificate.
    public init(_ files: ConsoleConfiguration.Certificate) throws(ServerProblem) {
        do {
            let (chain, key) = (try Self.chain(files.certificate), try Self.key(files.key))
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            do { _ = try NIOSSLContext(configuration: tls) } catch { throw Problem(text: "the key is not the certificate's") }
            self.tls = tls
            end = Timestamp(seconds: Int64(chain[0].notValidAfter))
        } catch {
            let reason = (error as? Problem)?.text ?? "\(error)"
            throw ServerProblem(
                message: "The console cannot use the certificate \(files.certificate) with the key \(files.key): \(reason).",
                isTemporary: false)
        }
    }

    /// The configuration of a server. Connections that begin after a renewal of the files get the renewed certificate.
    static func serving(_ files: ConsoleConfiguration.Certificate, _ logger: Logger) throws(ServerProblem) -> TLSConfiguration {
        let renewal = CertificateRenewal(of: files) { problem in
            logger.error(
                "The console's renewed certificate cannot be used: the one before stays in use until it can.",
                metadata: ["problem": "\(problem.message)"])
        }
        var tls = try ServerCertificate(files).tls
        // On another thread than the connection's: a key that does not fit leaves an error in the thread's queue of BoringSSL, which would
        // end the handshake.
        tls.sslContextCallback = { _, promise in promise.completeWithTask { renewal.change } }
        return tls
    }

    private struct Problem: Error { var text: String }

    private static func isForbidden(_ path: String) -> Bool { access(path, R_OK) != 0 && errno == EACCES }

    private static func chain(_ path: String) throws -> [NIOSSLCertificate] {
        let chain = try? NIOSSLCertificate.fromPEMFile(path)
        guard let chain, !chain.isEmpty else {
            throw Problem(text: "no certificate can be read from \(path), which must be a PEM file that this user may read")
        }
        return chain
    }

    private static func key(_ path: String) throws -> NIOSSLPrivateKey {
        do { return try NIOSSLPrivateKey(file: path, format: .pem) } catch {
            throw Problem(
                text: "no key can be read from \(path), which must be a PEM file without a password that this user may read")
        }
    }

    /// The finding of `bellhop doctor` about the certificate; nil if bellhop.yaml names none.
    public static func finding(_ console: ConsoleConfiguration, at now: Timestamp) -> Finding? {
        guard let files = console.tls else { return nil }
        let subject = "console"
        do throws(ServerProblem) {
            let end = try ServerCertificate(files).end
            let day = end.rfc3339.prefix(10)
            if end <= now {
                return Finding(subject, .missing, "its certificate ended on \(day)", remedy: "renew it", reason: .tls)
            }
            let text = "its certificate is valid until \(day)"
            return end - now < .days(14) ? Finding(subject, .note, text, remedy: "renew it") : Finding(subject, .ok, text)
        } catch {
            return Finding(subject, .missing, error.message, reason: .badArguments)
        }
    }

    /// The mistakes that `bellhop check` reports about the certificate.
    public static func diagnostics(_ configuration: Configuration) -> Diagnostics {
        // A user who may not read the key can still check the rest of bellhop.yaml.
        guard let files = configuration.console.tls, !isForbidden(files.certificate), !isForbidden(files.key) else {
            return Diagnostics()
        }
        do throws(ServerProblem) {
            _ = try ServerCertificate(files)
            return Diagnostics()
        } catch {
            return Diagnostics([Diagnostic(code: "wrong-value", error.message, at: configuration.place(ofConsole: "tls"))])
        }
    }
}

/// The certificate in the files, once it differs from that of the server's start.
///
/// A class over a mutex, because all connections share it.
final class CertificateRenewal: Sendable {
    private struct State {
        /// The files of the latest certificate.
        var stamps: [[Int]]
        /// The latest files that could not be used.
        var refused: [[Int]] = []
        var change = NIOSSLContextConfigurationOverride.noChanges
    }

    private let files: ConsoleConfiguration.Certificate
    private let report: @Sendable (ServerProblem) -> Void
    private let state: Mutex<State>

    /// - Parameter report: called once for each renewal that cannot be used.
    init(of files: ConsoleConfiguration.Certificate, report: @escaping @Sendable (ServerProblem) -> Void) {
        (self.files, self.report) = (files, report)
        state = Mutex(State(stamps: Self.stamps(of: files)))
    }

    /// What a new connection uses instead of the certificate of the start. While the files do not fit each other, because only one of them
    /// is written yet, the certificate before stays in use.
    var change: NIOSSLContextConfigurationOverride {
        state.withLock { state in
            let stamps = Self.stamps(of: files)
            if stamps == state.stamps { return state.change }
            do throws(ServerProblem) {
                let renewed = try ServerCertificate(files)
                state.stamps = stamps
                state.change.certificateChain = renewed.tls.certificateChain
                state.change.privateKey = renewed.tls.privateKey
            } catch {
                if stamps != state.refused { report(error) }
                state.refused = stamps
            }
            return state.change
        }
    }

    /// What changes when a file is written or replaced.
    private static func stamps(of files: ConsoleConfiguration.Certificate) -> [[Int]] {
        [files.certificate, files.key].map { path in
            var facts = stat()
            guard stat(path, &facts) == 0 else { return [] }
            return [Int(truncatingIfNeeded: facts.st_ino), Int(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
        }
    }
}
