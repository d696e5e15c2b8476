public import BellhopCore

/// A question from another command. A running agent answers it on its socket; if no agent runs, the command reads the store.
public enum Inquiry: Sendable, Hashable {
    case status
    /// - Parameter waits: whether a running agent waits for the first event of the query, up to twenty seconds, if there is none yet.
    case events(EventQuery, waits: Bool = false)
    case deliveries(DeliveryQuery)
    /// The tasks that the sources show now; only those with this number or sys_id, if given.
    case tasks(String?)
    /// A person's command for deliveries, by their ids or the starts of ids; empty for all dead and held ones.
    case apply(DeliveryCommand, deliveries: [String])
    /// A person pauses something until a person resumes it.
    case pause(PauseTarget, reason: String)
    case resume(PauseTarget)
    /// The active and the future silences; with `ended` also those that ended recently.
    case silences(ended: Bool)
    /// A person adds a silence. Its condition was already checked.
    case addSilence(Silence)
    /// A person ends a silence, by its id or the start of one.
    case endSilence(String)
    /// A person deletes what rules wait for, have counted and have gathered about a task, named by its id, number, address or subject.
    case forget(task: String)
    /// The arguments of one delivery, by id or the start of one, as a text to edit; see ``BellhopRules/DeliveryForm``.
    case form(String)
    /// A person's change to that text.
    case edit(FormEdit)
    /// A person routes stored events again.
    case replay(ReplayRequest)
    /// The history of a task or an event in the store.
    case history(HistoryQuery)
    /// The rows of the audit.
    case audit(AuditQuery)
    /// How many events and deliveries there were in each of the last 24 hours.
    case activity
    /// The tokens of the console, without their hashes.
    case tokens
    case addToken(ConsoleToken)
    case removeToken(of: String)
    /// Stores that a command's login was refused; a nil value deletes that. See ``CommandNotes``.
    case keepRefusal(String, JSON?)
    /// A command has changed a keychain, or tried the login that is in bellhop.yaml. A running agent applies the change, unless it reads
    /// another keychain.
    case keychainChanged(KeychainChange, in: KeychainPlace)
}

/// What a person pauses or resumes.
public enum PauseTarget: Sendable, Hashable {
    /// A connection: it gets no deliveries.
    case receiver(String)
    case rule(String)
    /// All writes to tasks.
    case writes
}

/// A person's change to the arguments of a delivery.
public struct FormEdit: Sendable, Hashable {
    /// The delivery's whole id.
    public var delivery: String
    /// The text before the change.
    public var before: String
    public var after: String

    public init(delivery: String, before: String, after: String) {
        (self.delivery, self.before, self.after) = (delivery, before, after)
    }
}

/// The part of the keychain that a command changed.
public enum KeychainChange: Sendable, Hashable {
    /// The secret of this name was set or removed.
    case secret(String)
    /// The login of this connection was stored or forgotten.
    case login(String)
}

/// Whose entries of which keychain a command changed.
public struct KeychainPlace: Sendable, Hashable {
    /// No keychain: a command tried the login that is in bellhop.yaml.
    public static let none = KeychainPlace(file: nil, project: nil)

    /// The keychain's file, as an absolute path without links; nil if none was changed, or from an older command.
    public var file: String?
    /// The project's id; nil for the entries that all projects share.
    public var project: String?

    public init(_ keychain: Keychain, project: String?) {
        self.init(file: SharedFile.resolved(keychain.path), project: project)
    }

    init(file: String?, project: String?) { (self.file, self.project) = (file, project) }
}

/// Why an inquiry failed.
public struct InquiryError: Error, Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case store
        case badRequest = "bad_request"
        /// The agent ended the exchange before its answer was complete.
        case cutOff = "cut_off"
        /// The agent did not answer in time: it hangs, or its process is stopped.
        case silent
    }
    public var kind: Kind
    /// One sentence.
    public var message: String
    /// The store's error, if it was one.
    public var storeKind: StoreError.Kind?

    public init(_ kind: Kind, _ message: String, storeKind: StoreError.Kind? = nil) {
        (self.kind, self.message, self.storeKind) = (kind, message, storeKind)
    }

    public init(_ error: StoreError) { self.init(.store, error.message, storeKind: error.kind) }
}

/// The types of the notes in a live stream about its events. No type of an event contains a dot.
public enum StreamNote: String, Sendable, CaseIterable {
    /// The number of events for which the condition failed.
    case failures = "condition.failed"
    /// The events come from another store.
    case otherBus = "bus.replaced"
}
