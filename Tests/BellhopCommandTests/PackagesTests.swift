import BellhopTesting
import Foundation
import Testing

/// The output of `make` if Swift or Debian's packages are missing.
@Suite(.timeLimit(.minutes(5))) struct PackagesTests {
    /// Runs .make/packages for a missing header with only these tools (a name and a script each) and a few that every machine
    /// has.
    private func packages(_ tools: [String: String]) async throws -> Program.Ended {
        let folder = try TemporaryFolder()
        for name in ["uname", "mktemp", "tail", "rm", "sh", "env"] {
            let path = ["/bin/", "/usr/bin/"].map { $0 + name }.first { FileManager.default.isExecutableFile(atPath: $0) }
            try FileManager.default.createSymbolicLink(atPath: folder.path + "/" + name, withDestinationPath: try #require(path))
        }
        for (name, script) in tools { try folder.write(name, "#!/bin/sh\n\(script)\n", mode: 0o755) }
        return try await Program(
            [Repository.root.appending(path: ".make/packages").path, "libyaml-dev libre2-dev", "no-such-header.h"],
            program: "/bin/sh", in: folder.path, environment: ["PATH": folder.path]
        ).end()
    }

    private static let need = "Bellhop is built with these Debian packages: libyaml-dev libre2-dev."

    @Test func `on a system other than Debian, one sentence names the needed packages`() async throws {
        let ended = try await packages(["id": "echo 0"])
        #expect(ended.code == 69)
        #expect(
            ended.errors == "\(Self.need) This machine has no apt-get: please install their equivalents, then run make again.\n")
    }

    @Test func `without root, one sentence names the command to run`() async throws {
        let ended = try await packages(["id": "echo 1000", "sudo": "exit 1", "apt-get": "echo NO; exit 1"])
        #expect(ended.code == 77)
        #expect(
            ended.errors
                == "\(Self.need) Installing them takes root: run 'sudo apt-get install libyaml-dev libre2-dev', then make again.\n"
        )
    }

    @Test func `without the network, one sentence follows apt-get's message`() async throws {
        let ended = try await packages(["id": "echo 0", "apt-get": "echo 'E: Unable to fetch some archives' >&2; exit 100"])
        #expect(ended.code == 69)
        #expect(
            ended.errors == """
                Installing libyaml-dev libre2-dev
                E: Unable to fetch some archives
                \(Self.need) They could not be installed (is the network there?): install them, then run make again.

                """)
    }

    @Test func `without Swift, one sentence says where it comes from, and nothing is installed`() async throws {
        let ended = try await Program(
            ["packages", "SWIFT=/no/swift"], program: "/usr/bin/make", in: Repository.root.path
        ).end()
        #expect(ended.code == 2)
        #expect(
            ended.errors.hasPrefix(
                "There is no /no/swift: install Swift 6.2 or newer (https://swift.org/install), or name it: make SWIFT=FILE\n"))
    }

    @Test func `missing packages are installed, with sudo if necessary, and ask no question`() async throws {
        let apt = "[ $1 = install ] && [ \"$DEBIAN_FRONTEND\" = noninteractive ]"
        let asRoot = try await packages(["id": "echo 0", "apt-get": apt])
        #expect(asRoot.code == 0)
        let bySudo = try await packages([
            "id": "echo 1000", "sudo": "[ \"$1\" = -n ] && shift; exec \"$@\"", "true": "exit 0", "apt-get": apt,
        ])
        #expect(bySudo.code == 0)
        #expect(bySudo.errors == "Installing libyaml-dev libre2-dev\n")
    }
}
