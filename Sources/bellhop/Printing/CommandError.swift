import BellhopAgent
import BellhopCore

/// The error with which a command ends, and its exit code.
struct CommandError: Error {
    enum Code: Int32, CaseIterable {
        case problem = 1
        case usage = 64
        case unreachable = 69
        case cannotCreate = 73
        case inputOutput = 74
        case tryLater = 75
        case loginRefused = 77
        case badConfiguration = 78

        /// The code as a word, for programs, and in a few words, for `--help`.
        var names: (word: String, summary: String) {
            switch self {
            case .problem: ("problem", "it ran and found a problem")
            case .usage: ("usage", "wrong usage")
            case .unreachable: ("unreachable", "a remote system cannot be reached")
            case .cannotCreate: ("store", "the store is missing, cannot be created or is damaged")
            case .inputOutput: ("input-output", "reading or writing failed")
            case .tryLater: ("try-later", "try later")
            case .loginRefused: ("login-refused", "the login was refused")
            case .badConfiguration: ("configuration", "the configuration or the rules are wrong")
            }
        }
    }

    var code: Code
    /// One sentence.
    var message: String?
    var diagnostics: Diagnostics?
    /// Whether a retry may succeed without any change.
    var mayPass: Bool { [.unreachable, .tryLater].contains(code) && !isUntrustedCertificate }
    /// Whether the reason is a certificate that this machine does not trust.
    var isUntrustedCertificate = false

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    init(_ diagnostics: Diagnostics) {
        code = diagnostics.isTemporary ? .tryLater : .badConfiguration
        self.diagnostics = diagnostics
    }

    init(_ error: StoreError) {
        code =
            switch error.kind {
            case .full: .inputOutput
            case .busy: .tryLater
            case .damaged, .newer, .cannotOpen, .lost: .cannotCreate
            case .other: .problem
            }
        message = error.message
    }

    init(_ error: SecretError) {
        self.init(error.isWriting ? .inputOutput : error.isTemporary ? .tryLater : .badConfiguration, error.message)
    }

    init(_ error: ConfigurationError) {
        switch error {
        case .diagnostics(let diagnostics): self.init(diagnostics)
        case .unreadable(let message): self.init(.badConfiguration, message)
        case .secret(let error): self.init(error)
        }
    }

    init(_ error: AssemblyError) {
        switch error {
        case .diagnostics(let diagnostics): self.init(diagnostics)
        case .store(let error): self.init(error)
        }
    }

    init(_ error: InquiryError) {
        if let kind = error.storeKind {
            self.init(StoreError(kind, error.message))
        } else {
            self.init([.cutOff, .silent].contains(error.kind) ? .tryLater : .problem, error.message)
        }
    }

    /// - Parameter isTriedAgain: whether Bellhop itself retries; otherwise the message tells the user to.
    init(_ failure: Failure, isTriedAgain: Bool = true) {
        let code: Code =
            switch failure.reason {
            case .unauthenticated, .mfaRequired, .loginRequired, .sessionExpired: .loginRefused
            case .unreachable, .timeout, .tls, .cut, .hibernating, .gateway, .serverError, .throttled, .dropped, .quota:
                .unreachable
            default: .problem
            }
        let prospect =
            isTriedAgain ? " Nothing is lost, and the next try may work." : " This may pass: run the command again later."
        let isSentence = failure.advised.last.map { ".!?".contains($0) } ?? true
        self.init(code, failure.advised + (failure.isTemporary ? (isSentence ? "" : ".") + prospect : ""))
    }

    func printData() {
        let problems = diagnostics?.all ?? message.map { [Diagnostic(code: code.names.word, $0)] } ?? []
        Console.json(["ok": false, "problems": .array(problems.map(\.json))])
    }

    /// Prints it on standard error, and for programs as data.
    func print(isForPrograms: Bool = false) {
        if isForPrograms { printData() } else if let diagnostics { diagnostics.print() }
        if let message { Console.sentence(Paint.red("error:", if: Console.noteHasColour) + " " + message.visible) }
    }
}

extension Diagnostics {
    /// Prints each, and the number of errors if there are several.
    func print() {
        for diagnostic in all { Console.note(diagnostic.rendered(colour: Console.noteHasColour)) }
        if errorCount > 1 { Console.note("\(errorCount) errors") }
    }
}
