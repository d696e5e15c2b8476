import BellhopCore
import BellhopStore
import BellhopTesting
import Glibc
import Testing

@testable import BellhopAgent
@testable import bellhop

@Suite struct StoreLinkTests {
    @Test func `a change is refused with the advice to try again while an agent has the store and does not answer yet`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/bellhop.db"
        let store = try Stores.open(path)
        let link = StoreLink(
            store: path, socket: ControlSocket.place(store: path, environment: [:]), zone: .utc, connections: [:], events: [],
            users: [], patience: .zero)
        let error = await #expect(throws: CommandError.self) { _ = try await link.answer(.forget(task: "INC1")) }
        #expect(error?.code == .tryLater)
        #expect(error?.message?.contains("does not answer on its socket: try again") == true)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(5))) func `while no agent runs, commands that change the store at the same time all succeed`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.write("bellhop.yaml", "version: 1\nrules: none\n")
        try folder.write("none/read-me", "")
        let first = try await Program.run(["run", "--once"], in: folder.path)
        #expect(first.code == 0, "\(first.errors)")
        let names = (1...8).map { "user-\($0)" }
        let programs = try names.map { try Program(["console", "token", "add", $0], in: folder.path) }
        for program in programs {
            let added = await program.end()
            #expect(added.code == 0, "\(added.errors)")
        }
        let list = try await Program.run(["console", "token", "list"], in: folder.path)
        for name in names { #expect(list.output.contains(name)) }
    }

    @Test(.timeLimit(.minutes(5))) func `the doctor says what it found also if the agent cannot be asked`() async throws {
        let folder = try TemporaryFolder()
        // The socket of a store with so long a name is not beside it.
        let name = String(repeating: "s", count: 96) + ".db"
        try folder.write("bellhop.yaml", "version: 1\nrules: none\nstore: \(name)\n")
        try folder.write("none/read-me", "")
        try await Stores.open("\(folder.path)/\(name)").close()
        try folder.write("run/bellhop", "not a folder")
        let doctor = try await Program.run(
            ["doctor"], in: folder.path, environment: ["XDG_RUNTIME_DIR": folder.path + "/run"])
        #expect(doctor.code == 1)
        for line in ["ok       store", "note     rules", "missing  agent"] {
            #expect(doctor.output.contains(line), "\(doctor.output)\(doctor.errors)")
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the doctor waits only a few seconds for an agent that hangs, and says so`() async throws
    {
        let folder = try TemporaryFolder()
        try folder.write("bellhop.yaml", "version: 1\nrules: none\n")
        try folder.write("none/read-me", "")
        let store = folder.path + "/bellhop.db"
        try await Stores.open(store).close()
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        let address = try #require(UnixAddress(ControlSocket.place(store: store, environment: [:]).path))
        try #require(address.withPointer { bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
        let doctor = try await Program.run(["doctor", "--json"], in: folder.path)
        #expect(doctor.code == 1)
        #expect(doctor.output.contains("did not answer for 5 seconds"), "\(doctor.output)\(doctor.errors)")
    }

    @Test(.timeLimit(.minutes(5))) func `the doctor shows the end of a silence in the zone of bellhop.yaml`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bellhop.yaml", "version: 1\nrules: none\ntimezone: Asia/Tokyo\n")
        try folder.write("none/read-me", "")
        try await Stores.open(folder.path + "/bellhop.db").close()
        let added = try await Program.run(["silence", "add", "--all", "--until", "2036-01-03T09:00:00Z"], in: folder.path)
        #expect(added.code == 0, "\(added.errors)")
        let doctor = try await Program.run(["doctor"], in: folder.path)
        #expect(doctor.output.contains("keeps messages back until 2036-01-03 18:00:00"), "\(doctor.output)\(doctor.errors)")
    }

    @Test(arguments: [InquiryError.Kind.cutOff, .silent])
    func `an agent that does not answer is a reason to try later`(kind: InquiryError.Kind) {
        #expect(CommandError(InquiryError(kind, "It does not answer.")).code == .tryLater)
        #expect(CommandError(InquiryError(.badRequest, "There is no rule x.")).code == .problem)
    }
}
