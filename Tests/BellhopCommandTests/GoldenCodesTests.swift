import BellhopTesting
import Foundation
import Testing

/// Every code of a diagnostic or of a failed evaluation occurs on a golden page.
@Suite struct GoldenCodesTests {
    /// Codes that no command can produce, each with the reason.
    static let unreachable = [
        "out-of-memory": "reported when libyaml cannot allocate memory; other parts of the process end earlier",
        "yaml-syntax": "for messages of later versions of libyaml; those of 0.2.5 all have codes of their own",
        "optional-syntax":
            "for environments without optional values, which Bellhop does not use; Tests/CELTests/LibraryTests tests it",
        "host": "the checker refuses each call of a function that needs an event or a time and has none",
    ]

    @Test func `every code occurs on a golden page`() throws {
        let pages = try Self.texts(in: ["Tests/BellhopCommandTests/Golden", "Tests/BellhopRulesTests/Golden"], ending: ".txt")
            .joined(separator: "\n")
        let codes = try Self.codes.get()
        #expect(codes.count > 110, "the search no longer finds the codes")
        let missing = codes.filter { !pages.contains("[\($0)]") && Self.unreachable[$0] == nil }.sorted()
        #expect(missing.isEmpty, "add a command that prints it to a page in Tests/BellhopCommandTests/Golden, and record it")
    }

    @Test func `every code explained in Troubleshooting exists`() throws {
        let page = try Self.texts(in: ["Sources/BellhopAgent/BellhopAgent.docc"], ending: "Troubleshooting.md").joined()
        let section = try #require(page.components(separatedBy: "## Codes").last)
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let explained = Set(
            rows.flatMap { row in
                let names = row.dropFirst(2).prefix { $0 != "|" }
                return names.matches(of: /`([a-z0-9-]+)`/).map { String($0.1) }
            })
        #expect(!explained.isEmpty)
        let unknown = explained.subtracting(try Self.codes.get()).sorted()
        #expect(unknown == [])
    }

    @Test func `every code exempt from the pages exists and has no page`() throws {
        let pages = try Self.texts(in: ["Tests/BellhopCommandTests/Golden"], ending: ".txt").joined(separator: "\n")
        let codes = try Self.codes.get()
        for code in Self.unreachable.keys {
            #expect(codes.contains(code), "\(code) does not exist")
            #expect(!pages.contains("[\(code)]"), "\(code) has a page")
        }
    }

    /// The codes in the sources: after `code:`, as the first argument of a function that reports a mistake, and as raw values of enums
    /// of codes. Found once, because the search takes seconds.
    private static let codes = Result { try findCodes() }

    private static func findCodes() throws -> Set<String> {
        var codes: Set<String> = []
        for text in try texts(in: ["Sources"], ending: ".swift") {
            for found in text.matches(of: /\bcode:\s*([^,\n]*)/) {
                for word in found.1.matches(of: /"([a-z0-9]+(?:-[a-z0-9]+)*)"/) { codes.insert(String(word.1)) }
            }
            for found in text.matches(of: /\b(?:report|Self|Issue)\(\s*"([a-z0-9]+(?:-[a-z0-9]+)*)"/) {
                codes.insert(String(found.1))
            }
            // Their other uses have names of settings, which have no hyphen.
            for found in text.matches(of: /\b(?:warn|problem)\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+)"/) { codes.insert(String(found.1)) }
            guard text.contains(/enum Code: String/) else { continue }
            for found in text.matches(of: /\bcase \w+ = "([a-z0-9]+(?:-[a-z0-9]+)*)"/) { codes.insert(String(found.1)) }
        }
        return codes.union(["missing-secret", "missing-variable"])
    }

    private static func texts(in folders: [String], ending: String) throws -> [String] {
        var texts: [String] = []
        for folder in folders {
            let root = Repository.root.appending(path: folder)
            let found = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
            while let file = found?.nextObject() as? URL {
                if file.lastPathComponent.hasSuffix(ending) { texts.append(try String(contentsOf: file, encoding: .utf8)) }
            }
        }
        return texts
    }
}
