import BellhopCore
import YAML

/// Reads rule files one by one, and makes a rule book of them or reports all their problems.
struct RuleLoader: Sendable {
    let context: RuleContext
    private let purpose: ExpressionPurpose
    private let cache: SharedNameCache

    init(_ context: RuleContext, purpose: ExpressionPurpose = .routing) {
        (self.context, self.purpose) = (context, purpose)
        cache = SharedNameCache(context)
    }

    func load(_ files: [RuleFile]) throws(Diagnostics) -> RuleBook { try book(of: files.map(read)) }

    /// Does the same as ``load(_:)``, on all processors.
    func loadInParallel(_ files: [RuleFile]) async throws(Diagnostics) -> RuleBook {
        let readings = await withTaskGroup(of: (start: Int, readings: [FileReading]).self) { group in
            for start in stride(from: 0, to: files.count, by: Self.filesPerTask) {
                let part = files[start..<min(start + Self.filesPerTask, files.count)]
                group.addTask { (start, part.map(read)) }
            }
            var parts: [(start: Int, readings: [FileReading])] = []
            for await part in group { parts.append(part) }
            return parts.sorted { $0.start < $1.start }.flatMap(\.readings)
        }
        return try book(of: readings)
    }

    private static let filesPerTask = 32

    private func book(of readings: [FileReading]) throws(Diagnostics) -> RuleBook {
        var problems = Diagnostics()
        /// Where each rule name was declared.
        var places: [String: Diagnostic.Place] = [:]
        for reading in readings {
            let before = problems.all.count
            problems.report(reading.problems)
            for (name, place) in reading.names {
                if let first = places[name] {
                    problems.report(
                        Diagnostic(
                            code: "duplicate-rule", "there is a rule `\(name)` already", at: place,
                            help: "the other is in \(first.file):\(first.line)"))
                } else {
                    places[name] = place
                }
            }
            problems.sort(from: before)
        }
        let quiet = Self.quiet(context, cache, &problems)
        if problems.hasErrors { throw problems }
        return RuleBook(readings.flatMap(\.rules), context, cache: cache, quiet: quiet, warnings: problems.all)
    }

    private func read(_ file: RuleFile) -> FileReading {
        var reading = FileReading(file: file.path, context: context, purpose: purpose, cache: cache)
        if !file.isTest { reading.read(file.bytes) }
        return reading
    }
}

/// The rules and problems of one file.
private struct FileReading: ProblemCollector, Sendable {
    let file: String
    let context: RuleContext
    let purpose: ExpressionPurpose
    let cache: SharedNameCache
    private(set) var rules: [Rule] = []
    var problems = Diagnostics()
    /// The names of its rules, also of those with errors.
    private(set) var names: [(name: String, place: Diagnostic.Place)] = []

    mutating func read(_ bytes: [UInt8]) {
        let source = SourceText(bytes)
        do throws(YAMLErrors) {
            let documents = try parse(source, keys: RuleKeys.known).filter { !$0.isEmpty }
            if documents.isEmpty {
                let place = Diagnostic.Place(file: file, line: 1, column: 1)
                problems.report(Diagnostic(.warning, code: "no-rules", "this file contains no rules", at: place))
            }
            for document in documents { read(document.root) }
        } catch {
            report(error, in: source)
        }
    }

    /// Reports a file's YAML errors. Repeated keys of a rule mean two rules in one document.
    private mutating func report(_ errors: YAMLErrors, in source: SourceText) {
        func repeats(_ error: YAMLError, _ keys: [String]) -> Bool {
            error.code == .duplicateKey && keys.contains(source.text(in: error.range))
        }
        var others = errors.errors
        if let second = errors.errors.first(where: { repeats($0, ["rule"]) }) {
            let place = Diagnostic.Place(second.range, in: source, file: file)
            problems.report(
                Diagnostic(
                    code: "two-rules", "a second rule begins here, in the same document as the first", at: place,
                    help: "separate them with a line `---`", corrected: ["---", source.line(second.range.start.line)]))
            let keys = RuleKeys.rule.map(\.name)
            others.removeAll { repeats($0, keys) && $0.range.start.line >= second.range.start.line }
        }
        for error in others { problems.report(Diagnostic(error, in: source, file: file)) }
    }

    private mutating func read(_ root: Node) {
        if let items = root.items, items.contains(where: { $0["rule"] != nil }) {
            report(
                "wrong-type", "a list of rules belongs under the key `rules`", at: root, help: "write `rules:` on a line above it"
            )
            for item in items { readRule(item) }
            return
        }
        if let tests = root.mapping?["tests"], root["rule"] == nil {
            let name = file.split(separator: "/").last.map(String.init) ?? file
            return report(
                "misnamed-tests", "this file contains tests, but its name does not end with `.test.yaml`", at: tests.key,
                help: "call it `\(Self.testName(name))`: names of test files end with `.test.yaml`")
        }
        guard let list = root.mapping?["rules"] else { return readRule(root) }
        for pair in root.mapping?.pairs ?? [] where pair.name != "rules" {
            report(
                "unknown-key", "no other key is allowed next to `rules`", at: pair.key,
                help: "a document holds one rule, or a list under `rules`")
        }
        guard let items = list.value.items else {
            return report("wrong-type", "`rules` must be a list of rules, not \(list.value.kind)", at: list.value)
        }
        for item in items { readRule(item) }
    }

    /// `a.test.yaml` for `a_test.yaml`.
    private static func testName(_ name: String) -> String {
        var stem = name.replacingSuffix(".yaml", with: "").replacingSuffix(".yml", with: "")
        for end in ["_tests", "_test", "-tests", "-test", ".tests"] { stem = stem.replacingSuffix(end, with: "") }
        return stem + ".test.yaml"
    }

    private mutating func readRule(_ node: Node) {
        var reader = RuleReader(file: file, context: context, purpose: purpose)
        defer { problems.report(reader.problems) }
        guard let name = reader.name(of: node) else {
            // Read it anyway, to report its other problems.
            _ = reader.read(node, name: node["rule"]?.scalarText ?? "", sharing: cache)
            return
        }
        names.append((name, Diagnostic.Place(node["rule"] ?? node, file: file)))
        if let rule = reader.read(node, name: name, sharing: cache) { rules.append(rule) }
    }
}

/// A rule file as read.
public struct RuleFile: Sendable, Hashable {
    /// The path as diagnostics show it.
    public var path: String
    public var bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// True for test files, which contain no rules.
    public var isTest: Bool { path.hasSuffix(".test.yaml") || path.hasSuffix(".test.yml") }
}
