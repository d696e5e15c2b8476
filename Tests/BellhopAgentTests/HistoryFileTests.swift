import BellhopAgent
import BellhopTesting
import Testing

/// The lines typed at the prompt of `bellhop eval`, kept between runs.
@Suite struct HistoryFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `lines are kept between runs in a file that only its owner can read`() throws {
        let path = folder.path + "/state/bellhop/eval-history"
        #expect(try HistoryFile(path: path).lines() == [])
        try HistoryFile(path: path).add("1 + 1")
        try HistoryFile(path: path).add("task.title")
        #expect(try HistoryFile(path: path).lines() == ["1 + 1", "task.title"])
        #expect(try folder.mode("state/bellhop/eval-history") == 0o600)
        #expect(try folder.mode("state/bellhop") == 0o700)
    }

    @Test func `repeated, empty and multi-line entries are not kept`() throws {
        let file = HistoryFile(path: folder.path + "/history")
        for line in ["a", "a", "", "b\nc", "d", "a"] { try file.add(line) }
        #expect(try file.lines() == ["a", "d", "a"])
    }

    @Test func `only the newest lines are kept, up to the limit`() throws {
        let file = HistoryFile(path: folder.path + "/history", limit: 3)
        for number in 1...5 { try file.add("\(number)") }
        #expect(try file.lines() == ["3", "4", "5"])
    }

    @Test func `a history that others can read is not used`() throws {
        let path = try folder.write("history", "secret\n", mode: 0o644)
        #expect(throws: HistoryFile.FileError.self) { try HistoryFile(path: path).lines() }
        #expect(throws: HistoryFile.FileError.self) { try HistoryFile(path: path).add("more") }
    }

    @Test func `the history is in the folder for program state`() {
        func path(_ environment: [String: String]) -> String? { HistoryFile.standardPath("x", environment: environment) }
        #expect(path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/bellhop/x")
        #expect(path(["XDG_STATE_HOME": "relative", "HOME": "/h"]) == "/h/.local/state/bellhop/x")
        #expect(path(["HOME": ""]) == nil)
        #expect(path([:]) == nil)
    }
}
