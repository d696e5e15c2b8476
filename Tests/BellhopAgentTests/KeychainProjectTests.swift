import BellhopConnectors
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import BellhopAgent

/// The project that each login and secret belongs to.
@Suite struct KeychainProjectTests {
    private let folder: TemporaryFolder
    private let shared: Keychain

    init() throws {
        folder = try TemporaryFolder()
        shared = Keychain(path: folder.path + "/keychain.json")
    }

    private func keychain(_ id: String, file: String? = nil) -> Keychain {
        shared.of(Keychain.Project(id: id, file: file ?? "/etc/\(id)/bellhop.yaml"))
    }

    @Test(arguments: ["\n", "\r\n"]) func `the project of a file with mistakes is found`(_ lineEnd: String) throws {
        try folder.write("bellhop.yaml", ["version: 1", "a: [", "project: p1", ""].joined(separator: lineEnd))
        #expect(ProjectLine.id(in: folder.path + "/bellhop.yaml") == "p1")
    }

    @Test(arguments: ["project:", "project: \"\"", "project: [p1]"])
    func `a project without a valid name is refused as check refuses it, also in a file with mistakes`(_ line: String)
        async throws
    {
        let loader = ConfigurationLoader(environment: [:], keychain: shared)
        func problems(of text: String, _ read: (String) async throws -> Void) async throws -> [Diagnostic] {
            let file = try folder.write("bellhop.yaml", text)
            do { try await read(file) } catch ConfigurationError.diagnostics(let problems) {
                return problems.all.filter { $0.severity == .error }
            }
            return []
        }
        let expected = try await problems(of: "version: 1\n\(line)\n") { _ = try await loader.load($0) }
        #expect(expected.count == 1)
        let found = try await problems(of: "version: 1\n\(line)\n") { _ = try loader.project(of: $0) }
        #expect(found == expected)
        let damaged = try await problems(of: "version: 1\n\(line)\na: [\n") { _ = try loader.project(of: $0) }
        #expect(damaged.map(\.message) == expected.map(\.message))
    }

    @Test func `two projects can each have a login and a secret of the same name`() throws {
        let (one, two) = (keychain("one"), keychain("two"))
        try one.setLogin("snow", to: .init(username: "ada", password: "a"))
        try two.setLogin("snow", to: .init(username: "bob", password: "b"))
        try one.setSecret("ops_url", to: "1")
        try two.setSecret("ops_url", to: "2")
        #expect(try one.login("snow")?.username == "ada")
        #expect(try two.login("snow")?.username == "bob")
        #expect(try one.secret("ops_url") == "1")
        #expect(try two.secret("ops_url") == "2")
        #expect(try shared.secret("ops_url") == nil)
        #expect(try two.logOut(of: "snow"))
        #expect(try one.login("snow")?.username == "ada")
        #expect(try two.login("snow") == nil)
    }

    @Test func `a shared secret serves every project without a secret of that name`() throws {
        let one = keychain("one")
        try shared.setSecret("ops_url", to: "shared")
        #expect(try one.secret("ops_url") == "shared")
        #expect(try one.secretNames().own.isEmpty)
        #expect(try one.secretNames().shared == ["ops_url"])
        try one.setSecret("ops_url", to: "own")
        #expect(try one.secret("ops_url") == "own")
        #expect(try keychain("two").secret("ops_url") == "shared")
        try one.setSecret("ops_url", to: nil)
        #expect(try one.secret("ops_url") == "shared")
    }

    @Test func `a shared password is not combined with a project's own tokens, and shared tokens are renewed as shared ones`()
        async throws
    {
        let (one, two) = (keychain("one"), keychain("two"))
        try shared.setLogin("snow", to: .init(username: "ada", password: "a"))
        try await one.keep(StoredTokens(refresh: "r1", origin: "o"), of: "other")
        try one.setTokens("snow", to: StoredTokens(refresh: "r2", origin: "o"))
        #expect(try one.login("snow") == nil)
        #expect(try await one.tokens(of: "snow")?.refresh == "r2")
        #expect(try await two.tokens(of: "other") == nil)
        try shared.setTokens("common", to: StoredTokens(refresh: "r3", origin: "o"))
        try await one.keep(StoredTokens(refresh: "r4", origin: "o"), of: "common")
        #expect(try await two.tokens(of: "common")?.refresh == "r4")
    }

    @Test func `shared tokens are renewed as shared ones also if a person has stored a login of the project meanwhile`()
        async throws
    {
        let (one, two) = (keychain("one"), keychain("two"))
        try shared.setTokens("snow", to: StoredTokens(refresh: "r1", origin: "o", mark: "7f"))
        try one.setLogin("snow", to: .init(username: "ada", password: "a"))
        try await one.keep(StoredTokens(refresh: "r2", origin: "o", mark: "7f"), of: "snow")
        #expect(try await two.tokens(of: "snow")?.refresh == "r2")
        #expect(try await one.tokens(of: "snow") == nil)
    }

    @Test func `a copied bellhop.yaml does not replace the logins of the original`() throws {
        let text = "version: 1\nproject: p1\n"
        let first = try folder.write("first/bellhop.yaml", text)
        let copy = try folder.write("copy/bellhop.yaml", text)
        try keychain("p1", file: first).setSecret("ops_url", to: "1")
        let error = #expect(throws: SecretError.self) { try keychain("p1", file: copy).setSecret("ops_url", to: "2") }
        #expect(error?.message.contains("names the same project as \(first)") == true)
        #expect(try keychain("p1", file: first).secret("ops_url") == "1")
        // A moved folder keeps its logins.
        try FileManager.default.removeItem(atPath: first)
        try keychain("p1", file: copy).setSecret("ops_url", to: "2")
        #expect(try keychain("p1", file: copy).secret("ops_url") == "2")
    }

    @Test(arguments: [
        ("version: 1\nstore: a.db\n", "version: 1\nproject: p1\nstore: a.db\n"),
        ("# Ours\r\nversion: 1\r\nstore: a.db\r\n", "# Ours\r\nversion: 1\r\nproject: p1\r\nstore: a.db\r\n"),
        ("store: a.db\nversion: 1", "store: a.db\nversion: 1\nproject: p1"),
    ])
    func `a file gets a project line below its version and is otherwise unchanged`(_ text: String, _ expected: String) throws {
        let file = try folder.write("bellhop.yaml", text, mode: 0o640)
        #expect(try ProjectLine.add("p1", to: file, for: shared))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == expected)
        #expect(try folder.mode("bellhop.yaml") == 0o640)
        #expect(ProjectLine.id(in: file) == "p1")
    }

    @Test func `a file that begins with a byte order mark gets its project line, too`() {
        let added = ProjectLine.adding("p1", to: Array("\u{FEFF}version: 1\n".utf8))
        #expect(added == Array("\u{FEFF}version: 1\nproject: p1\n".utf8))
    }

    @Test func `a file without a place for the project line is unchanged, and the message shows the line to add`() throws {
        let file = try folder.write("bellhop.yaml", "{version: 1}\n")
        let error = #expect(throws: SecretError.self) { try ProjectLine.add("p1", to: file, for: shared) }
        #expect(error?.message.contains("Add the line `project: p1`") == true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "{version: 1}\n")
    }

    @Test func `of commands that add a project line at the same time, one adds it`() async throws {
        let file = try folder.write("bellhop.yaml", "version: 1\n")
        let added = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<10 { group.addTask { try ProjectLine.add("p\(number)", to: file, for: shared) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let id = try #require(ProjectLine.id(in: file))
        #expect(try added == 1 && String(contentsOfFile: file, encoding: .utf8) == "version: 1\nproject: \(id)\n")
    }

    @Test func `project ids are unique and are never read by YAML as numbers`() {
        let ids = (0..<100).map { _ in ProjectLine.makeID() }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.first == "p" && $0.count == 12 })
    }
}
