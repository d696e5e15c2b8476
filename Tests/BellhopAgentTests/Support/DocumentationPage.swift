import Foundation

/// A page of the documentation, or the README.
struct DocumentationPage: Sendable {
    /// The name of the article, as `Rules-cookbook`; README for the README.
    var name: String
    var text: String
    private let file: URL

    static let repository = URL(filePath: #filePath).appending(path: "../../../..").standardized
    private static let folder = repository.appending(path: "Sources/BellhopAgent/BellhopAgent.docc")

    init(_ name: String) throws {
        let file = name == "README" ? Self.repository.appending(path: "README.md") : Self.folder.appending(path: name + ".md")
        self.name = name
        self.file = file
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// All articles and the README.
    static func all() throws -> [DocumentationPage] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }.sorted()
        return try (names.map { String($0.dropLast(3)) } + ["README"]).map(DocumentationPage.init)
    }

    func save() throws { try Data(text.utf8).write(to: file) }

    // MARK: Code

    /// A listing between fences.
    struct Listing: Sendable {
        /// The page and line of its first line, for messages.
        var place: String
        var language: String
        var text: String
    }

    var listings: [Listing] {
        var listings: [Listing] = []
        var open: (indent: Int, listing: Listing)?
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let indent = line.prefix { $0 == " " }.count
            let isFence = line.dropFirst(indent).hasPrefix("```")
            if let current = open {
                if isFence {
                    listings.append(current.listing)
                    open = nil
                } else {
                    open?.listing.text += line.dropFirst(min(indent, current.indent)) + "\n"
                }
            } else if isFence {
                let language = String(line.dropFirst(indent + 3))
                open = (indent, Listing(place: "\(name).md:\(number + 2)", language: language, text: ""))
            }
        }
        return listings
    }

    // MARK: Generated parts

    /// The names of the parts between `<!-- made: name -->` and `<!-- end -->`, in order.
    var madeParts: [String] {
        text.components(separatedBy: "<!-- made: ").dropFirst().compactMap { $0.components(separatedBy: " -->").first }
    }

    /// The text of a generated part; nil if the page has no part with this name.
    func part(_ name: String) -> String? { range(of: name).map { String(text[$0]) } }

    mutating func setPart(_ name: String, to new: String) {
        if let range = range(of: name) { text.replaceSubrange(range, with: new) }
    }

    private func range(of name: String) -> Range<String.Index>? {
        guard let head = text.range(of: "<!-- made: \(name) -->\n\n"),
            let tail = text.range(of: "\n<!-- end -->", range: head.upperBound..<text.endIndex)
        else { return nil }
        return head.upperBound..<tail.lowerBound
    }
}
