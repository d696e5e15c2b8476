import Foundation

/// A page of questions and answers: each case has a title, a file's text, and the diagnostics for it.
///
/// With `BELLHOP_RECORD=1` in the environment the answers are written again; read the difference before you commit it.
struct GoldenPage {
    struct Case {
        var title: String
        var question: String
        var answer: String
    }

    let path: String
    var cases: [Case]

    static let isUpdating = ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil
    private static let head = "=== "
    private static let middle = "--- says"

    init(_ name: String, file: String = #filePath) throws {
        path = URL(filePath: file).deletingLastPathComponent().appending(path: name).path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        cases = text.components(separatedBy: "\n" + Self.head).dropFirst().map { section in
            let lines = section.components(separatedBy: "\n")
            let middle = lines.firstIndex(of: Self.middle) ?? lines.count
            return Case(
                title: lines[0], question: lines[1..<middle].joined(separator: "\n"),
                answer: lines.dropFirst(middle + 1).joined(separator: "\n").trimmingCharacters(in: .newlines))
        }
    }

    func save(heading: String) throws {
        let sections = cases.map { "\n\(Self.head)\($0.title)\n\($0.question)\n\(Self.middle)\n\($0.answer)\n" }
        try (heading + "\n" + sections.joined()).write(toFile: path, atomically: true, encoding: .utf8)
    }
}
