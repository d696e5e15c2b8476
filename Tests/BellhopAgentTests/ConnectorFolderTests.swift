import Foundation
import Testing

/// Each connector stays in its folder: removing the folder would only change the catalogue.
@Suite struct `Folders of connectors` {
    /// One source file, without comments and texts.
    private struct Source {
        var path: String
        var text: String
        var code: String

        static func all(below folder: String) throws -> [Source] {
            let root = DocumentationPage.repository.appending(path: "Sources").appending(path: folder).standardized
            let names = try #require(FileManager.default.subpaths(atPath: root.path)).filter { $0.hasSuffix(".swift") }
            try #require(!names.isEmpty, "\(folder) has no source")
            return try names.sorted().map { name in
                let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
                let code = text.replacing(/\/\/[^\n]*/, with: "").replacing(/"(\\.|[^"\\\n])*"/, with: "")
                return Source(path: name, text: text, code: code)
            }
        }

        /// The types that it declares.
        var types: Set<String> {
            Set(code.matches(of: /\b(struct|class|enum|protocol|actor|typealias) ([A-Z]\w*)/).map { String($0.2) })
        }

        /// The types that it declares outside of others.
        var outerTypes: Set<String> {
            let regex = /^(\w+ )*(struct|class|enum|protocol|actor|typealias) ([A-Z]\w*)/.anchorsMatchLineEndings()
            return Set(code.matches(of: regex).filter { !$0.0.contains("private ") }.map { String($0.3) })
        }

        var words: Set<String> { Set(code.matches(of: /\b[A-Z]\w+/).map { String($0.0) }) }
    }

    @Test(arguments: ["BellhopCore", "BellhopEngine", "BellhopStore", "BellhopRules", "CEL", "YAML"])
    func `a module below the connectors contains no word of ServiceNow`(_ module: String) throws {
        let foreign = /(?i)servicenow|service-now|\bsys_|sysparm|glide|encoded.?query|short_description/
        for source in try Source.all(below: module) {
            let found = source.text.firstMatch(of: foreign).map { String($0.0) }
            #expect(found == nil, "\(module)/\(source.path)")
        }
    }

    /// The files that list all connectors and their environment.
    private static let lists: Set<String> = ["Catalogue.swift", "Connectors.swift", "ConnectorEnvironment.swift"]

    @Test(arguments: ["ServiceNow", "ETO", "MobileFoundation", "Web", "Receivers", "Log"])
    func `only the catalogue names the types in a connector's folder`(_ folder: String) throws {
        let sources = try Source.all(below: "BellhopConnectors")
        let own = sources.filter { $0.path.hasPrefix(folder + "/") }
        let others = sources.filter { !$0.path.hasPrefix(folder + "/") && !Self.lists.contains($0.path) }
        try #require(own.count > 2)
        let types = own.reduce(into: Set()) { $0.formUnion($1.outerTypes) }
            .subtracting(others.reduce(into: Set()) { $0.formUnion($1.types) })
        for other in others { #expect(other.words.intersection(types).sorted() == [], "\(other.path)") }
    }
}
