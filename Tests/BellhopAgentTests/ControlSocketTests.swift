import BellhopFiles
import BellhopTesting
import Foundation
import Testing

@testable import BellhopAgent

@Suite struct ControlSocketTests {
    private static let deep = "/" + String(repeating: "deeper/", count: 20)

    private static func place(_ name: String, _ environment: [String: String]) -> ControlSocket.Place {
        ControlSocket.place(store: deep + name, environment: environment)
    }

    @Test func `the control socket is beside the store`() {
        let place = ControlSocket.place(store: "/var/lib/bellhop/bellhop.db", environment: [:])
        #expect(place == ControlSocket.Place(path: "/var/lib/bellhop/bellhop.db.sock"))
    }

    @Test func `a store with too long a path for a socket gets a socket of its own in a folder private to the user`() {
        let environment = ["XDG_RUNTIME_DIR": "/run/user/1000"]
        let one = Self.place("one.db", environment)
        #expect(one.privateFolder == "/run/user/1000/bellhop")
        #expect(one.path.hasPrefix("/run/user/1000/bellhop/") && one.path.hasSuffix(".sock"))
        #expect(one.path.utf8.count < 108)
        #expect(one != Self.place("two.db", environment))
        #expect(one == Self.place("one.db", environment))
        let other = Self.place("one.db", [:])
        #expect(other.privateFolder == "/tmp/bellhop-\(geteuid())")
        #expect(other.path.hasPrefix("/tmp/bellhop-\(geteuid())/"))
    }

    @Test func `a runtime folder that is relative or too long is not used`() {
        for folder in ["run", "/" + String(repeating: "x", count: 90)] {
            #expect(Self.place("one.db", ["XDG_RUNTIME_DIR": folder]).privateFolder == "/tmp/bellhop-\(geteuid())")
        }
    }

    @Test func `a socket folder that is open to others, a link or a file is refused by server and client`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/bellhop"
        #expect(try !PrivateFolder.isOurs(path))
        try PrivateFolder.make(path)
        #expect(try folder.mode("bellhop") == 0o700)
        #expect(try PrivateFolder.isOurs(path))
        let place = ControlSocket.Place(path: path + "/a.sock", privateFolder: path)
        #expect(try ControlClient(place).ask(.status) == nil)
        #expect(chmod(path, 0o770) == 0)
        #expect(throws: PrivateFolder.FileError.self) { try PrivateFolder.make(path) }
        let error = #expect(throws: InquiryError.self) { try ControlClient(place).ask(.status) }
        #expect(error?.message.contains("chmod 700 \(path)") == true)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: path)
        #expect(throws: PrivateFolder.FileError.self) { try PrivateFolder.make(folder.path + "/link") }
        let file = try folder.write("file", "")
        #expect(throws: PrivateFolder.FileError.self) { try PrivateFolder.make(file) }
    }

    @Test func `an agent answers its own user and root, and a command trusts agents of its own user or of root`() throws {
        let folder = try TemporaryFolder()
        let (ada, bob, root) = (PeerUser(.init(user: 1000)), PeerUser(.init(user: 1001)), PeerUser(.init(user: 0)))
        #expect(ada.mayAsk(agentOf: 1000) && root.mayAsk(agentOf: 1000) && !bob.mayAsk(agentOf: 1000))
        let path = folder.path + "/a.sock"
        #expect(ada.mayAnswer(at: path, for: 1000) && root.mayAnswer(at: path, for: 1000) && !bob.mayAnswer(at: path, for: 1000))
        // Root talks only to an agent of the folder's owner.
        let owner = UInt32(try #require(try FileManager.default.attributesOfItem(atPath: folder.path)[.ownerAccountID] as? Int))
        #expect(PeerUser(.init(user: owner)).mayAnswer(at: path, for: 0))
        #expect(!PeerUser(.init(user: owner + 1)).mayAnswer(at: path, for: 0))
    }

    @Test func `the kernel identifies the user at the other end of the socket`() {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { pair.forEach { close($0) } }
        #expect(PeerUser(of: pair[0])?.id == geteuid())
    }

    @Test func `a socket that cannot be made in its folder says what to do`() {
        let refused = ControlServer.cannotListen("/var/lib/bellhop/bellhop.db.sock.new", SystemError(EACCES))
        #expect(
            refused.message
                == "Cannot listen at /var/lib/bellhop/bellhop.db.sock.new (Permission denied): let this user write its folder "
                + "/var/lib/bellhop, or choose another `store`.")
        let full = ControlServer.cannotListen("/a/b.sock", SystemError(ENOSPC)).message
        #expect(full.hasSuffix(": free space on the disk."))
    }
}
