import BellhopAgent
import BellhopTesting
import Foundation
import Testing

@Suite struct KeychainTests {
    private let folder: TemporaryFolder
    private let path: String
    private let keychain: Keychain

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path + "/keychain.json"
        keychain = Keychain(path: path)
    }

    @Test func `a stored secret can be read back, by its owner only`() throws {
        let keychain = Keychain(path: folder.path + "/deep/keychain.json")
        try keychain.setSecret("ops_url", to: "https://hooks.example.com/a")
        try keychain.setLogin("snow", to: .init(username: "john.doe", password: "päss \"word\""))
        #expect(try keychain.secret("ops_url") == "https://hooks.example.com/a")
        #expect(try keychain.login("snow") == .init(username: "john.doe", password: "päss \"word\""))
        #expect(try keychain.secretNames().shared == ["ops_url"])
        #expect(try folder.mode("deep/keychain.json") == 0o600)
    }

    @Test func `a login keeps its nonce and its instance, and a login without them can be read`() throws {
        try keychain.setLogin("snow", to: .init(username: "ada", password: "p", nonce: "7f", place: "https://acme.example"))
        #expect(try keychain.login("snow") == .init(username: "ada", password: "p", nonce: "7f", place: "https://acme.example"))
        let older = #"{"version":1,"logins":{"snow":{"username":"ada","password":"p"}}}"#
        let file = try folder.write("older.json", older, mode: 0o600)
        #expect(try Keychain(path: file).login("snow") == .init(username: "ada", password: "p"))
    }

    @Test func `removing a secret leaves the others`() throws {
        try keychain.setSecret("a", to: "1")
        try keychain.setSecret("b", to: "2")
        try keychain.setSecret("a", to: nil)
        #expect(try keychain.secret("a") == nil)
        #expect(try keychain.secret("b") == "2")
    }

    @Test(arguments: [0o640, 0o604, 0o620])
    func `a keychain that others can read is refused with the command that corrects it`(_ mode: Int) throws {
        try folder.write("keychain.json", #"{"version":1,"secrets":{"a":"hunter2"}}"#, mode: mode)
        let error = #expect(throws: SecretError.self) { try keychain.secret("a") }
        #expect(error?.message.contains("chmod 600 \(path)") == true)
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test func `a keychain path that is a folder or a pipe is reported at once`() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let pipe = #expect(throws: SecretError.self) { try keychain.secret("a") }
        #expect(pipe?.message == "\(path) is a pipe or a device and not a file: move it away, or name a file.")
        #expect(pipe?.isWriting == false)
        let other = #expect(throws: SecretError.self) { try Keychain(path: folder.path).secret("a") }
        #expect(other?.message.contains("is a folder and not a file") == true)
    }

    @Test func `a keychain that cannot be written is reported as unwritable, for every reason`() throws {
        let file = try folder.write("file", "x")
        for path in ["\(file)/keychain.json", "\(file)/deep/keychain.json", "/proc/keychain.json"] {
            let keychain = Keychain(path: path)
            #expect(try keychain.secret("a") == nil)
            let error = #expect(throws: SecretError.self) { try keychain.setSecret("a", to: "1") }
            #expect(error?.isWriting == true, "\(error?.message ?? "")")
        }
    }

    @Test func `an existing draft file is replaced and never written to`() throws {
        // A hard link to a file that others can read, at the path of the draft, and held open.
        let elsewhere = try folder.write("elsewhere", "before", mode: 0o644)
        try FileManager.default.linkItem(atPath: elsewhere, toPath: path + ".new")
        let held = open(path + ".new", O_RDONLY)
        defer { close(held) }
        try keychain.setSecret("a", to: "hunter2")
        #expect(try String(contentsOfFile: elsewhere, encoding: .utf8) == "before")
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(read(held, &bytes, 100) == 6)
        #expect(try keychain.secret("a") == "hunter2")
        #expect(try folder.mode("keychain.json") == 0o600)
    }

    @Test func `a lock file that is a link is refused`() throws {
        try FileManager.default.createSymbolicLink(atPath: path + ".lock", withDestinationPath: folder.path + "/elsewhere")
        #expect(throws: SecretError.self) { try keychain.setSecret("a", to: "1") }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/elsewhere"))
    }

    @Test func `a keychain that is a link stays one, and its target is changed`() throws {
        let target = try folder.write("elsewhere/keys.json", #"{"version":1}"#)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        try keychain.setSecret("a", to: "1")
        #expect(try Keychain(path: target).secret("a") == "1")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
        #expect(try folder.mode("elsewhere/keys.json") == 0o600)
    }

    @Test(arguments: ["keys.json", "elsewhere/keys.json"])
    func `a keychain that is a link to a missing file is refused, and stays a link`(_ name: String) throws {
        let target = "\(folder.path)/\(name)"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        let error = #expect(throws: SecretError.self) { try keychain.setSecret("a", to: "1") }
        #expect(error?.message.hasPrefix("\(path) is a link to a file that is missing: ") == true)
        #expect(throws: SecretError.self) { try keychain.secret("a") }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
    func `a keychain and a bellhop.yaml that root changes stay their owner's and their group's`() throws {
        try keychain.setSecret("a", to: "1")
        let file = try folder.write("bellhop.yaml", "version: 1\n", mode: 0o640)
        for path in [path, file] { #expect(chown(path, 12_345, 12_346) == 0) }
        try keychain.setSecret("b", to: "2")
        #expect(try ProjectLine.add("p1", to: file, for: keychain))
        for path in [path, file] {
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            #expect(facts[.ownerAccountID] as? NSNumber == 12_345 && facts[.groupOwnerAccountID] as? NSNumber == 12_346)
        }
        #expect(try folder.mode("keychain.json") == 0o600 && folder.mode("bellhop.yaml") == 0o640)
    }

    @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
    func `the lock that root makes for a keychain is the keychain's owner's, whose agent takes it, too`() throws {
        try folder.write("keychain.json", #"{"version":1}"#, mode: 0o600)
        #expect(chown(path, 12_345, 12_346) == 0)
        try keychain.setSecret("a", to: "1")
        let facts = try FileManager.default.attributesOfItem(atPath: path + ".lock")
        #expect(facts[.ownerAccountID] as? NSNumber == 12_345 && facts[.groupOwnerAccountID] as? NSNumber == 12_346)
        #expect(try folder.mode("keychain.json.lock") == 0o600)
    }

    @Test(.enabled(if: geteuid() == 0, "only root may give files away"))
    func `the keychain that root makes is its folder's owner's, whose agent reads it`() throws {
        #expect(chown(folder.path, 12_345, 12_346) == 0)
        try keychain.setSecret("a", to: "1")
        for path in [path, path + ".lock"] {
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            #expect(facts[.ownerAccountID] as? NSNumber == 12_345 && facts[.groupOwnerAccountID] as? NSNumber == 12_346)
        }
        #expect(try folder.mode("keychain.json") == 0o600)
    }

    @Test func `a secret that would make the keychain larger than what is read is refused, and the others stay`() throws {
        try keychain.setSecret("a", to: "1")
        let error = #expect(throws: SecretError.self) {
            try keychain.setSecret("b", to: String(repeating: "x", count: 1 << 20))
        }
        #expect(error?.message.contains("nothing was stored") == true)
        #expect(try keychain.secret("a") == "1" && keychain.secret("b") == nil)
    }

    @Test func `a damaged keychain is reported and stays unchanged`() throws {
        try folder.write("keychain.json", "{\"version\":1,")
        #expect(throws: SecretError.self) { try keychain.setSecret("a", to: "1") }
        #expect(throws: SecretError.self) { try keychain.secret("a") }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"version\":1,")
    }

    @Test func `concurrent writers lose no secret`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<20 { group.addTask { try keychain.setSecret("s\(number)", to: "\(number)") } }
            try await group.waitForAll()
        }
        #expect(try keychain.secretNames().shared.count == 20)
    }

    @Test func `the keychain's path comes from the environment, in a fixed order`() {
        #expect(Keychain.standardPath(environment: ["BELLHOP_KEYCHAIN": "/k", "HOME": "/h"]) == "/k")
        #expect(Keychain.standardPath(environment: ["STATE_DIRECTORY": "/var/lib/bellhop"]) == "/var/lib/bellhop/keychain.json")
        #expect(Keychain.standardPath(environment: ["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == "/c/bellhop/keychain.json")
        #expect(Keychain.standardPath(environment: ["HOME": "/h"]) == "/h/.config/bellhop/keychain.json")
    }
}
