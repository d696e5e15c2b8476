import BellhopTesting
import Foundation
import Testing

@testable import bellhop

/// The transcripts in the README match the program's output.
@Suite struct ReadmeTests {
    /// The code block after a comment such as `<!-- demo -->`.
    static func block(_ name: String) throws -> String {
        let text = try Repository.text("README.md")
        let parts = text.components(separatedBy: "<!-- \(name) -->\n```\n")
        try #require(parts.count == 2)
        return try #require(parts[1].components(separatedBy: "\n```").first) + "\n"
    }

    /// The lines without the parts that differ between runs: seconds, ports, ids, and the order of simultaneous events.
    static func settled(_ text: String) -> [String] {
        text.replacing(#/\d\d:\d\d:\d\d /#, with: "").replacing(/127\.0\.0\.1:\d+/, with: "127.0.0.1:PORT")
            .replacing(/\b[0-9a-f]{32}\b/, with: "ID").replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "TIME")
            .replacing(/runs \d+ times/, with: "runs fast")
            .split(separator: "\n").map(String.init).sorted()
    }

    @Test(.timeLimit(.minutes(10))) func `the demonstration prints the README's transcript, and succeeds`() async throws {
        let folder = try TemporaryFolder()
        // On a busy machine its clock runs slower.
        let ended = try await Program(["demo", "--speed", "30"], in: folder.path).end(within: .seconds(580))
        #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
        let difference = Self.settled(ended.output).difference(from: Self.settled(try Self.block("demo")))
        #expect(difference.isEmpty, "\(difference.removals) \(difference.insertions)")
    }

    @Test func `the README's example session prints its transcript`() async throws {
        let written = try Self.block("session")
        let page = GoldenPage(written)
        let folder = try TemporaryFolder()
        let answers = try await page.run(in: folder.path)
        let printed = page.text(answers: answers)
        #expect(printed.replacing("FOLDER", with: "~/.config/bellhop") == written)
    }

    @Test func `the rule in the README is the shipped one`() throws {
        let readme = try Repository.text("README.md")
        let shipped = try Repository.text("rules/acknowledge-new-incidents.yaml")
        let rule = try #require(
            readme.components(separatedBy: "```yaml\n").dropFirst().first?.components(separatedBy: "```").first)
        /// Without comments and the spaces before them.
        func bare(_ text: String) -> [String] {
            text.split(separator: "\n").map { line in
                var code = line.prefix { $0 != "#" }
                while code.last == " " { code.removeLast() }
                return String(code)
            }.filter { !$0.isEmpty }
        }
        #expect(bare(rule) == bare(shipped))
    }

    @Test func `the page about commands names every exit code`() throws {
        let page = try Repository.text("Sources/BellhopAgent/BellhopAgent.docc/Commands.md")
        for code in CommandError.Code.allCases { #expect(page.contains("\n| \(code.rawValue) | "), "\(code)") }
    }
}
