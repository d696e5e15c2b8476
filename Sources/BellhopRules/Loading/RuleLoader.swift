import BellhopCore
import YAML

/// Reads rule files, all of them, and gathers everything that is wrong.
struct RuleLoader {
    let surroundings: RuleSurroundings
    private var cache: SharedNameCache
    private var problems = Diagnostics()
    private var rules: [Rule] = []
    /// Where each name was given.
    private var places: [String: Diagnostic.Place] = [:]

    init(_ surroundings: RuleSurroundings) {
        self.surroundings = surroundings
        cache = SharedNameCache(isOpen: surroundings.isOpen)
    }

    mutating func load(_ files: [RuleFile]) throws(Diagnostics) -> RuleBook {
        for file in files where !file.isTest {
            let before = problems.all.count
            read(file)
            problems.sort(from: before)
        }
        if problems.hasErrors { throw problems }
        return RuleBook(rules, surroundings, cache: cache, warnings: problems.all)
    }

    private mutating func read(_ file: RuleFile) {
        let source = SourceText(file.bytes)
        do throws(YAMLErrors) {
            let documents = try parse(source).filter { !$0.isEmpty }
            if documents.isEmpty {
                let place = Diagnostic.Place(file: file.path, line: 1, column: 1)
                problems.report(Diagnostic(.warning, code: "no-rules", "this file holds no rule", at: place))
            }
            for document in documents { read(document.root, file.path) }
        } catch {
            problems.report(Diagnostics(error, in: source, file: file.path))
        }
    }

    private mutating func read(_ root: Node, _ file: String) {
        guard let list = root.mapping?["rules"] else { return readRule(root, file) }
        for pair in root.mapping?.pairs ?? [] where pair.name != "rules" {
            problems.report(
                Diagnostic(
                    code: "unknown-key", "beside `rules` stands nothing else", at: Diagnostic.Place(pair.key, file: file),
                    help: "a document holds one rule, or a list under `rules`"))
        }
        guard let items = list.value.items else {
            let message = "`rules` is a list of rules, not \(list.value.kind)"
            return problems.report(Diagnostic(code: "wrong-type", message, at: Diagnostic.Place(list.value, file: file)))
        }
        for item in items { readRule(item, file) }
    }

    private mutating func readRule(_ node: Node, _ file: String) {
        var reader = RuleReader(file: file, surroundings: surroundings)
        defer { problems.report(reader.problems) }
        guard let name = reader.name(of: node) else {
            // What else is wrong with it is told all the same.
            _ = reader.read(node, name: node["rule"]?.scalarText ?? "", sharing: &cache)
            return
        }
        let place = Diagnostic.Place(node["rule"] ?? node, file: file)
        if let first = places[name] {
            problems.report(
                Diagnostic(
                    code: "duplicate-rule", "there is a rule `\(name)` already", at: place,
                    help: "the other is in \(first.file):\(first.line)"))
        } else {
            places[name] = place
        }
        if let rule = reader.read(node, name: name, sharing: &cache) { rules.append(rule) }
    }
}
