import BellhopTesting
import Foundation
import Glibc
import Testing

/// Keeping passwords in memory out of core files and away from other processes.
@Suite(.timeLimit(.minutes(5)), .closing) struct CoreDumpTests {
    private static func text(of file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    @Test func `the agent's limit for core files is zero`() async throws {
        let stage = try await Stage.set(rules: StoppingTests.rules)
        let agent = try await stage.startAgent()
        let limits = try Self.text(of: "/proc/\(agent.id)/limits").split(separator: "\n")
        let core = try #require(limits.first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(core)")
    }

    private static let setpriv = "/usr/bin/setpriv"
    private static let other: uid_t = 65534

    /// A user's dumpable process belongs to the user in /proc; root sees the difference only in another user's process.
    @Test(.enabled(if: geteuid() != 0 || access(setpriv, X_OK) == 0, "root needs setpriv to be somebody else"))
    func `the memory of the agent cannot be read by other programs of its user`() async throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        let isRoot = geteuid() == 0
        // All commands start in the same way; this one needs no folder and keeps running.
        let command = [Repository.program, "simulate", "--port", "0"]
        let wrapper = [Self.setpriv, "--reuid=\(Self.other)", "--regid=\(Self.other)", "--clear-groups"]
        let all = isRoot ? wrapper + command : command
        let program = try Program(Array(all.dropFirst()), program: all[0], in: "/", environment: ["HOME": "/"])
        let user = isRoot ? Self.other : geteuid()
        func owner() -> uid_t? {
            var facts = stat()
            return stat("/proc/\(program.id)/environ", &facts) == 0 ? facts.st_uid : nil
        }
        // The files of a dumpable process belong to its own user.
        try await eventually("its files in /proc are root's, and not of user \(user)") { !program.isRunning || owner() == 0 }
        #expect(program.isRunning, "\(program.errorsSoFar)")
        await program.kill()
    }

    @Test func `the systemd unit forbids core files`() throws {
        let text = try Repository.text("Sources/BellhopAgent/BellhopAgent.docc/Running-as-a-service.md")
        #expect(text.contains("\nLimitCORE=0\n"))
    }
}
