import Subprocess
import SystemPackage

/// One place where `${{ secret.NAME }}` is looked up.
public enum SecretStore: Sendable, Hashable {
    case keychain
    /// One file per secret; a trailing newline is not part of it.
    case folder(String)
    /// Prints the secret whose name is appended.
    case command([String])

    /// The secret; nil when this store does not have it.
    func secret(_ name: String, keychain: Keychain) async throws(SecretError) -> String? {
        switch self {
        case .keychain: return try keychain.secret(name)
        case .folder(let folder): return try Self.file("\(folder)/\(name)")
        case .command(let words): return try await Self.output(of: words, name)
        }
    }

    private static func file(_ path: String) throws(SecretError) -> String? {
        do throws(PrivateFile.Trouble) {
            // Docker, Kubernetes and systemd set the modes of these files themselves.
            guard let bytes = try PrivateFile.readAny(path) else { return nil }
            return text(bytes)
        } catch {
            throw SecretError(error)
        }
    }

    /// A command that exits otherwise than with 0 does not have the secret; one that cannot be run is an error.
    private static func output(of words: [String], _ name: String) async throws(SecretError) -> String? {
        guard let program = words.first else { return nil }
        let executable: Executable = program.contains("/") ? .path(FilePath(program)) : .name(program)
        do {
            let result = try await run(
                executable, arguments: Arguments(Array(words.dropFirst()) + [name]), output: .bytes(limit: 1 << 16),
                error: .discarded)
            guard result.terminationStatus.isSuccess else { return nil }
            return text(result.standardOutput)
        } catch {
            throw SecretError("The command `\(words.joined(separator: " "))` of `secrets:` could not be run: is it installed?")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
