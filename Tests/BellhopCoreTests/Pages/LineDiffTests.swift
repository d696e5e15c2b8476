import BellhopCore
import BellhopTesting
import Foundation
import Testing

@Suite struct LineDiffTests {
    @Test(arguments: [
        ("a\nb\nc", "a\nx\nc", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c"), ("a", "a", ""), ("", "a", "@@ -1 +1 @@\n-\n+a"),
        ("a\nb", "a", "@@ -1,2 +1 @@\n a\n-b"), ("b", "a\nb\nc", "@@ -1 +1,3 @@\n+a\n b\n+c"),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5x\n6\n7\n8\n9", "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+5x\n 6\n 7"),
    ])
    func `a difference is written in the format of diff -u`(_ before: String, _ after: String, _ shown: String) {
        #expect(LineDiff(from: before, to: after).unified(context: 2) == shown)
        #expect(LineDiff(from: before, to: after).isEmpty == (before == after))
    }

    @Test func `distant changes are in separate hunks`() {
        let before = (1...20).map(String.init)
        var after = before
        after[0] = "one"
        after[19] = "twenty"
        let text = LineDiff(from: before.joined(separator: "\n"), to: after.joined(separator: "\n")).unified(context: 1)
        #expect(text == "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -19,2 +19,2 @@\n 19\n-20\n+twenty")
    }

    @Test func `both texts can be rebuilt from a complete difference`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<500 {
            func text() -> String {
                (0..<Int.random(in: 0...12, using: &random)).map { _ in ["a", "b", "c", ""].randomElement(using: &random) ?? "" }
                    .joined(separator: "\n")
            }
            let (before, after) = (text(), text())
            let lines = LineDiff(from: before, to: after).unified(context: 100).split(
                separator: "\n", omittingEmptySubsequences: false
            ).dropFirst()
            if before == after { continue }
            #expect(lines.filter { $0.first != "+" }.map { $0.dropFirst() }.joined(separator: "\n") == before)
            #expect(lines.filter { $0.first != "-" }.map { $0.dropFirst() }.joined(separator: "\n") == after)
        }
    }

    @Test func `the difference of two huge texts is cut with a note`() {
        let before = (0..<30_000).map { "line \($0)" }.joined(separator: "\n")
        let after = (0..<30_000).map { "row \($0)" }.joined(separator: "\n")
        let text = LineDiff(from: before, to: after).unified()
        #expect(text.utf8.count < 17 << 10)
        #expect(text.hasSuffix(" more lines"))
        let difference = LineDiff(from: "a", to: "b")
        #expect(difference.unified() == "@@ -1 +1 @@\n-a\n+b")
        #expect(difference.unified(limit: 17) == "@@ -1 +1 @@\n-a\n… 1 more line")
    }

    @Test(arguments: [
        ("", "a\n", "@@ -0,0 +1 @@\n+a\n"), ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
        ("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
        ("a\nb", "x\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"),
        ("a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"),
        ("caf\u{e9}\n", "cafe\u{301}\n", "@@ -1 +1 @@\n-caf\u{e9}\n+cafe\u{301}\n"),
    ])
    func `the patch of a file has the format of diff -u`(_ before: String, _ after: String, _ hunk: String) throws {
        let patch = LineDiff.patch(of: "rules/a.yaml", from: before, to: after)
        #expect(patch.utf8.elementsEqual("--- a/rules/a.yaml\n+++ b/rules/a.yaml\n\(hunk)".utf8), "\(patch)")
        #expect(LineDiff.patch(of: "a", from: before, to: before) == "")
        // A path from the root is one below it, because `patch` writes to no other.
        #expect(LineDiff.patch(of: "/etc/a b", from: nil, to: "x\n") == "--- /dev/null\n+++ b/etc/a b\t\n@@ -0,0 +1 @@\n+x\n")
        #expect(LineDiff.patch(of: "a\"\n", from: nil, to: "x\n").contains("+++ \"b/a\\\"\\012\"\n"))
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/patch")))
    func `patch applies the patch of a file`() throws {
        var random = SeededRandom(seed: 11)
        let folder = try TemporaryFolder()
        for round in 0..<40 {
            func text() -> String {
                let lines = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                    ["a", "b", "c", "", "-- x", "++ y", "\\ No", "d\r", "\u{e9}"].randomElement(using: &random) ?? ""
                }
                return lines.joined(separator: "\n") + (Bool.random(using: &random) ? "\n" : "")
            }
            let (before, after) = (text(), text())
            let name = "folder \(round)/a \"\(round)\".yaml"
            if round % 4 > 0 { try folder.write(name, before, mode: 0o644) }
            let patch = LineDiff.patch(of: name, from: round % 4 > 0 ? before : nil, to: after)
            if patch.isEmpty { continue }
            let path = try folder.write("change.patch", patch)
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/patch")
            process.arguments = ["-p1", "--binary", "--fuzz=0", "--silent", "-i", path]
            process.currentDirectoryURL = URL(filePath: folder.path)
            try process.run()
            process.waitUntilExit()
            let patched = (try? Data(contentsOf: URL(filePath: folder.path + "/" + name))) ?? Data()
            #expect(process.terminationStatus == 0 && Array(patched) == Array(after.utf8), "\(patch)")
        }
    }
}
