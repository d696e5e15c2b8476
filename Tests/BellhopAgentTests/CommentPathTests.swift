import Foundation
import Testing

@Suite struct `The path of one comment in the design` {
    /// More files would make the path hard to follow.
    private static let most = 50

    @Test func `each file on the path exists, and there are not too many`() throws {
        let design = try DocumentationPage("Design").text
        let rest = try #require(design.components(separatedBy: "\n## The path of one comment\n").dropFirst().first)
        let section = try #require(rest.components(separatedBy: "\n## ").first)
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }
        let named = rows.flatMap { row in row.matches(of: /`([^`]+)`/).map { "\($0.1).swift" } }
        #expect(rows.count == 12, "a heading and eleven stages")
        #expect(named.count <= Self.most)
        #expect(section.contains("these \(named.count) files"))
        #expect(Set(named).count == named.count, "each file is listed once")
        let sources = DocumentationPage.repository.appending(path: "Sources").standardized
        let paths = try #require(FileManager.default.subpaths(atPath: sources.path))
        let files = Set(paths.map { String($0.split(separator: "/").last ?? "") })
        #expect(named.filter { !files.contains($0) } == [])
    }
}
