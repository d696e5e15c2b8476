import BellhopCore
import Synchronization

/// A mail server's accounts, mailboxes and faults. ``MailServer`` puts it on the network.
///
/// A class over a lock, because each connection changes it while others read it.
public final class SimulatedMail: Sendable {
    /// An answer: the code and the text, `550 5.1.1 No such user`.
    public typealias Reply = String

    /// The mail server's requirements and faults.
    public struct Settings: Sendable {
        /// Passwords by user; a mail needs a login if there are any.
        public var accounts: [String: String] = [:]
        /// Offered to clients, in this order.
        public var mechanisms = ["PLAIN", "LOGIN"]
        /// Whether a login and a mail need TLS.
        public var needsTLS = false
        /// The answer to a recipient, by address.
        public var recipients: [String: Reply] = [:]
        /// Answers instead of the usual ones.
        public var greeting: Reply?
        public var login: Reply?
        public var sender: Reply?
        public var data: Reply?
        /// The answer to the whole mail, which is then not stored.
        public var end: Reply?
        public var cut: Cut?
        /// How long it waits before each answer, in milliseconds.
        public var delay = 0
        /// The most recipients of one mail; further ones are deferred.
        public var maxRecipients = 100
        /// The largest mail, in bytes.
        public var largest = 10 << 20

        public init() {}
    }

    /// When the connection breaks.
    public enum Cut: String, Sendable, CaseIterable {
        /// In place of a greeting.
        case atOnce = "at_once"
        /// In the middle of the mail, which is lost.
        case inMail = "in_mail"
        /// After the mail was stored, in place of the answer.
        case afterMail = "after_mail"
        /// After the mail was stored: no more answers, but the connection stays open.
        case silentAfterMail = "silent_after_mail"
    }

    private struct State {
        var settings = Settings()
        var mails: [ReceivedMail] = []
    }

    private let state = Mutex(State())
    let now: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Int64) { self.now = now }

    public var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// The accepted mails in the order of arrival; at least the last 10,000 are kept.
    public var received: [ReceivedMail] { state.withLock { $0.mails } }

    public func clear() { state.withLock { $0.mails = [] } }

    func keep(_ mail: ReceivedMail) { state.withLock { $0.mails.appendToLog(mail) } }
}

/// A mail as it arrived, with its envelope.
public struct ReceivedMail: Sendable, Hashable {
    /// The name with which the client greeted the server (EHLO).
    public var client: String
    public var sender: String
    public var recipients: [String]
    /// The user who was logged in; nil if no user was.
    public var user: String?
    public var isEncrypted: Bool
    /// With CR LF after each line, without the stuffing of full stops.
    public var bytes: [UInt8]
    /// Microseconds since 1970 UTC by the simulation's clock.
    public var time: Int64

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    var json: JSON {
        [
            "client": .string(client), "sender": .string(sender), "recipients": .array(recipients.map(JSON.string)),
            "user": .optional(user), "encrypted": .bool(isEncrypted), "text": .string(text),
        ]
    }
}
