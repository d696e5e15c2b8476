import BellhopCore
import BellhopFiles
import Subprocess
import SystemPackage

/// One place where `${{ secret.NAME }}` is looked up.
public enum SecretStore: Sendable, Hashable {
    case keychain
    /// One file per secret; a trailing newline is not part of it.
    case folder(String)
    /// A command that prints a secret. The secret's name is its last argument.
    case command([String])

    enum Answer: Sendable, Hashable {
        case value(String)
        /// The store does not have it.
        case absent
        /// A command failed: it does not have the secret, or cannot print it now.
        case refused(Refusal)
    }

    /// Why a command failed to print a secret. Contains nothing of its output, which may contain the secret.
    struct Refusal: Sendable, Hashable {
        var message: String
        var help: String
        /// True if the command printed other secrets, so that the name must be wrong; false if the command may not work at present.
        var isWrongName = false
    }

    func secret(_ name: String, keychain: Keychain, timeout: Duration) async throws(SecretError) -> Answer {
        switch self {
        case .keychain: return try keychain.secret(name).map(Answer.value) ?? .absent
        case .folder(let folder): return try Self.file("\(folder)/\(name)").map(Answer.value) ?? .absent
        case .command(let words): return try await Self.output(of: words, name, timeout: timeout)
        }
    }

    private static func file(_ path: String) throws(SecretError) -> String? {
        let bytes = try rethrowing(as: SecretError.init) { () throws(PrivateFile.FileError) in
            // Docker, Kubernetes and systemd set the modes of these files themselves.
            try PrivateFile.readAny(path)
        }
        return try bytes.map { bytes throws(SecretError) in try text(bytes, of: path) }
    }

    /// Unlike the program of a step, it has the agent's environment, and its standard output alone is the result. Only the command's first
    /// word is shown: the others may contain a token.
    private static func output(of words: [String], _ name: String, timeout: Duration) async throws(SecretError) -> Answer {
        guard let program = words.first else { return .absent }
        guard Descriptor.hasRoom(for: Descriptor.roomForPrograms) else {
            throw SecretError(
                "The command `\(program)` of `secrets:` could not be run: Bellhop may open no more files and connections, so raise its limit (`ulimit -n`).",
                isTemporary: true)
        }
        var options = PlatformOptions()
        // Its whole process group ends with it. Without a terminal, it cannot wait for a person.
        options.createSession = true
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .zero)]
        let platformOptions = options
        typealias Ended = ExecutionResult<Void, BytesOutput, DiscardedOutput>
        let ended: Ended?
        do {
            ended = try await withThrowingTaskGroup(of: Ended?.self) { group in
                group.addTask {
                    try await run(
                        program.contains("/") ? .path(FilePath(program)) : .name(program),
                        arguments: Arguments(Array(words.dropFirst()) + [name]), platformOptions: platformOptions,
                        output: .bytes(limit: 1 << 16), error: .discarded)
                }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch let error as SubprocessError where error.code == .outputLimitExceeded {
            throw SecretError(
                "The command `\(program)` of `secrets:` printed more than 64 KiB, which cannot be the secret `\(name)`.")
        } catch _ where Task.isCancelled {
            throw SecretError("The command `\(program)` of `secrets:` was stopped, because Bellhop ends.", isTemporary: true)
        } catch {
            throw SecretError("The command `\(program)` of `secrets:` could not be run: is it installed, and executable?")
        }
        guard let ended else {
            throw SecretError(
                "The command `\(program)` of `secrets:` was stopped: it had not printed the secret `\(name)` after "
                    + "\(timeout.components.seconds) seconds. Does it wait for a passphrase?",
                isTemporary: true)
        }
        switch ended.terminationStatus {
        case .exited(0): return .value(try text(ended.standardOutput, of: name))
        case .exited(let code): return .refused(refusal(program, name, "exit status \(code)"))
        case .signaled(let signal): return .refused(refusal(program, name, "signal \(signal)"))
        }
    }

    private static func refusal(_ program: String, _ name: String, _ end: String) -> Refusal {
        Refusal(
            message: "the command `\(program)` did not give the secret `\(name)`: it ended with \(end)",
            help: "run the command yourself to see why; its output is not shown here, because it may contain the secret")
    }

    private static func text(_ bytes: [UInt8], of secret: String) throws(SecretError) -> String {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw SecretError("The secret `\(secret)` is not text in UTF-8, so it cannot be used: store it in this encoding.")
        }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
