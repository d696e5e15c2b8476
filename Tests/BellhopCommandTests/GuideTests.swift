import ArgumentParser
import BellhopTesting
import Foundation
import Testing

@testable import Simulator
@testable import bellhop

/// Tables of the guides match the program's own descriptions. `BELLHOP_RECORD=1 swift test --filter GuideTests` writes them again.
@Suite(.serialized) struct GuideTests {
    @Test func `the page about commands lists each as the program describes it`() throws {
        let rows = Bellhop.configuration.subcommands.map { command in
            let parts = command.configuration.subcommands.map { "`\($0._commandName)`" }.joined(separator: ", ")
            let call = "`bellhop \(command._commandName)`" + (parts.isEmpty ? "" : ": \(parts)")
            return "| \(call) | \(command.configuration.abstract) |\n"
        }
        try compare("| command | what it does |\n|---|---|\n" + rows.joined(), with: "commands", of: "Commands")
    }

    @Test func `the guide to the simulator lists every fault`() throws {
        #expect(Fault.summaries.map { $0.key }.sorted() == Fault.names.sorted())
        let rows = Fault.summaries.map { "| `\($0.key)` | \($0.value) |\n" }
        try compare("| fault | what happens |\n|---|---|\n" + rows.joined(), with: "faults", of: "Simulator")
    }

    /// Compares a table with a part of a page, or writes it there.
    private func compare(_ table: String, with part: String, of name: String) throws {
        let path = "Sources/BellhopAgent/BellhopAgent.docc/\(name).md"
        let page = try Repository.text(path)
        let (begin, end) = ("<!-- \(part) -->\n\n", "\n<!-- end -->\n")
        if ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil {
            let sides = page.components(separatedBy: begin)
            let rest = try #require(sides.last).components(separatedBy: end).dropFirst().joined(separator: end)
            try (sides[0] + begin + table + end + rest)
                .write(to: Repository.root.appending(path: path), atomically: true, encoding: .utf8)
        } else {
            #expect(page.contains(begin + table + end), "Write it with BELLHOP_RECORD=1.")
        }
    }
}
