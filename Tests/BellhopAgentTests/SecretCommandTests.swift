import BellhopAgent
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@Suite struct SecretCommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The outcome of loading a configuration with such a script as its secret store, and further stores after it.
    private func problem(_ script: String, besides others: String = "", timeout: Duration = .seconds(30)) async throws -> String {
        try folder.write("vault", "#!/bin/sh\n" + script, mode: 0o700)
        let text = """
            version: 1
            secrets: [command: ["\(folder.path)/vault", --token=hunter1]\(others)]
            connections:
              ops: {kind: slack, url: "https://example.com/${{ secret.chat }}"}
            """
        let outcome: String
        do throws(ConfigurationError) {
            let configuration = try await loader(timeout).load(Array(text.utf8), file: folder.path + "/bellhop.yaml")
            outcome = "url " + (configuration.connection("ops")?.settings.text("url") ?? "-")
        } catch { outcome = Self.words(error) }
        return outcome.replacing(folder.path, with: "FOLDER")
    }

    private func loader(_ timeout: Duration = .seconds(30)) -> ConfigurationLoader {
        ConfigurationLoader(environment: [:], keychain: Keychain(path: folder.path + "/keychain.json"), timeout: timeout)
    }

    private static func words(_ error: ConfigurationError) -> String {
        switch error {
        case .diagnostics(let problems): problems.all.map { $0.rendered() }.joined(separator: "\n")
        case .unreadable(let message): message
        case .secret(let error): error.message
        }
    }

    @Test func `a command is given the name of a secret and prints its value`() async throws {
        #expect(try await problem("echo \"$2-1\"") == "url https://example.com/chat-1")
    }

    @Test func `a secret that is not UTF-8 is refused, and not used with other characters`() async throws {
        let refusal = "is not text in UTF-8, so it cannot be used: store it in this encoding."
        #expect(try await problem("printf 'p\\344ss'") == "The secret `chat` \(refusal)")
        try folder.write("secrets/chat", "")
        try Data([0x70, 0xE4, 0x73]).write(to: URL(filePath: folder.path + "/secrets/chat"))
        #expect(
            try await problem("exit 1", besides: ", folder: secrets") == "The secret `FOLDER/secrets/chat` \(refusal)")
    }

    @Test func `a command's relative path starts at the folder of bellhop.yaml, wherever Bellhop is started`() async throws {
        for name in ["./bin/vault", "bin/vault"] {
            try folder.write("bin/vault", "#!/bin/sh\necho \"$2-1\"\n", mode: 0o700)
            let text = """
                version: 1
                secrets: [command: [\(name), show]]
                connections:
                  ops: {kind: slack, url: "https://example.com/${{ secret.chat }}"}
                """
            let configuration = try await loader().load(Array(text.utf8), file: folder.path + "/bellhop.yaml")
            #expect(configuration.connection("ops")?.settings.text("url") == "https://example.com/chat-1")
        }
    }

    @Test func `a failing command is reported with its exit status, without its output`() async throws {
        let outcome = try await problem("echo hunter2; echo hunter3 >&2; exit 3")
        #expect(
            outcome.contains(
                "the command `FOLDER/vault` did not give the secret `chat`: it ended with exit status 3 [failed-secret]"))
        #expect(outcome.hasPrefix("FOLDER/bellhop.yaml:4:"))
        #expect(!outcome.contains("hunter"))
        #expect(try await problem("kill -9 $$").contains("it ended with signal 9"))
    }

    @Test func `if a command fails, the next store is used`() async throws {
        try folder.write("secrets/chat", "abc\n")
        #expect(try await problem("exit 1", besides: ", folder: secrets") == "url https://example.com/abc")
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["exec sleep 600", "sleep 600; echo late"])
    func `a hanging command is killed and reported`(_ script: String) async throws {
        #expect(
            try await problem(script, timeout: .seconds(1))
                == "The command `FOLDER/vault` of `secrets:` was stopped: it had not printed the secret `chat` after 1 seconds. Does it wait for a passphrase?"
        )
    }

    @Test func `a failing or hanging command counts as temporary, unless the file has another mistake`() async throws {
        func isTemporary(_ program: String, _ more: String = "", _ timeout: Duration = .seconds(60)) async -> Bool? {
            let text = "version: 1\nsecrets: [command: [\(program)]]\n\(more)store: \"${{ secret.a }}\"\n"
            do throws(ConfigurationError) {
                _ = try await loader(timeout).load(Array(text.utf8), file: "bellhop.yaml")
                return nil
            } catch {
                return switch error {
                case .diagnostics(let problems): problems.isTemporary
                case .secret(let error): error.isTemporary
                case .unreadable: false
                }
            }
        }
        #expect(await isTemporary("/bin/false") == true)
        #expect(await isTemporary("sleep, \"600\"", "", .milliseconds(200)) == true)
        #expect(await isTemporary("/bin/false", "nonsense: 1\n") == false)
        #expect(await isTemporary("no-such-vault") == false)
    }

    @Test(arguments: [
        ("no-such-vault", "The command `no-such-vault` of `secrets:` could not be run: is it installed, and executable?"),
        ("yes", "The command `yes` of `secrets:` printed more than 64 KiB, which cannot be the secret `a`."),
    ])
    func `a command that cannot be run, or prints far too much, is reported without its arguments`(
        _ program: String, _ message: String
    ) async throws {
        let text = "version: 1\nsecrets: [command: [\(program), --, --token=hunter1]]\nrules: \"${{ secret.a }}\"\n"
        do throws(ConfigurationError) {
            _ = try await loader(.seconds(240)).load(Array(text.utf8), file: "bellhop.yaml")
            Issue.record("the configuration was accepted")
        } catch { #expect(Self.words(error) == message) }
    }

    @Test(.timeLimit(.minutes(5))) func `children of a hanging command are killed, even if they ignore SIGTERM`() async throws {
        let script = "trap '' TERM\n(trap '' TERM; sleep 600) & echo $! > \"$(dirname \"$0\")/child\"\nwait\n"
        #expect(try await problem(script, timeout: .seconds(10)).contains("was stopped"))
        let child = try String(contentsOfFile: folder.path + "/child", encoding: .utf8).trimmingCharacters(in: .newlines)
        let deadline = ContinuousClock.now + .seconds(60)
        while !ChildProcess.hasEnded(child), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
        #expect(ChildProcess.hasEnded(child), "process \(child) is still running")
    }

    @Test func `a name that a working command refuses is a mistake and not temporary`() async throws {
        func load(_ script: String, _ names: String..., before other: String = "") async throws -> Diagnostics? {
            try folder.write("vault", "#!/bin/sh\n" + script, mode: 0o700)
            let rules = names.map { "\"rules/${{ secret.\($0) }}\"" }.joined(separator: ", ")
            let text = "version: 1\nsecrets: [command: [\"\(folder.path)/vault\"]\(other)]\nrules: [\(rules)]\n"
            do throws(ConfigurationError) {
                _ = try await loader().load(Array(text.utf8), file: folder.path + "/bellhop.yaml")
                return nil
            } catch {
                guard case .diagnostics(let problems) = error else { throw error }
                return problems
            }
        }
        let gives = "[ \"$1\" = chat ] && echo abc"
        let wrong = try #require(try await load(gives, "chat", "chta"))
        #expect(
            !wrong.isTemporary && wrong.all.contains { $0.code == "missing-secret" && $0.message.contains("`chta`") }, "\(wrong)")
        // A wrong name and an unreachable server look the same.
        #expect(try await load(gives, "chta")?.isTemporary == true)
        // Another command has failed, which may know it.
        #expect(try await load(gives, "chat", "database", before: ", command: [\"/bin/false\"]")?.isTemporary == true)
        // The command works again at the next attempt.
        let late = "echo \"$1\" >> \"$0.log\"; [ \"$1\" = chat ] || [ $(grep -c chta \"$0.log\") -gt 1 ] && echo abc"
        #expect(try await load(late, "chat", "chta")?.all.contains { $0.code.hasSuffix("-secret") } != true)
    }

    @Test func `a secret that no store has is a mistake and not temporary`() async throws {
        let text = "version: 1\nsecrets: [keychain, folder: \"\(folder.path)\"]\nstore: \"${{ secret.a }}\"\n"
        await #expect { _ = try await loader().load(Array(text.utf8), file: "bellhop.yaml") } throws: { error in
            if case .diagnostics(let problems)? = error as? ConfigurationError { !problems.isTemporary } else { false }
        }
    }
}
