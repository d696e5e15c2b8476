public import BellhopCore

/// Runs the tests of rules: with a simulated clock, without a network or side effects.
public enum RuleTests {
    /// Runs the tests of these files against the rules they name, which must be among `rules`.
    ///
    /// - Throws: every problem of the files.
    public static func run(
        _ files: [RuleFile], rules: [RuleFile], context: RuleContext
    ) throws(Diagnostics) -> [RuleTestResult] {
        try run(files, rules: rules, context: context, restarts: false)
    }

    /// - Parameter restarts: whether the agent restarts before each step, which must change nothing.
    static func run(
        _ files: [RuleFile], rules: [RuleFile], context: RuleContext, restarts: Bool
    ) throws(Diagnostics) -> [RuleTestResult] {
        let byPath = Dictionary(rules.map { (TestFileReader.normalised($0.path), $0) }) { first, _ in first }
        return try run(files, context: context, restarts: restarts) { byPath[TestFileReader.normalised($0)] }
    }

    /// Runs the tests of these files against the rules they name.
    ///
    /// - Parameters:
    ///   - rules: reads the rule file of a path; nil if there is none.
    ///   - coverage: records which parts of these rules the tests cover; rules that no test names count as uncovered.
    /// - Throws: every problem of the files.
    public static func run(
        _ files: [RuleFile], context: RuleContext, coverage: CoverageRecord? = nil, rules: (_ path: String) -> RuleFile?
    ) throws(Diagnostics) -> [RuleTestResult] {
        try run(files, context: context, restarts: false, coverage: coverage, rules: rules)
    }

    private static func run(
        _ files: [RuleFile], context: RuleContext, restarts: Bool, coverage: CoverageRecord? = nil,
        rules: (_ path: String) -> RuleFile?
    ) throws(Diagnostics) -> [RuleTestResult] {
        var results: [RuleTestResult] = []
        var problems = Diagnostics()
        var shared: [[String]: RuleBook?] = [:]
        for file in files {
            var reader = TestFileReader(file)
            if let root = reader.root() {
                var context = context
                let zoned = reader.zoned(root, context)
                if let zoned { context = zoned }
                var own: [[String]: RuleBook?] = [:]
                let calendars = reader.calendars(root, in: context) { rules($0)?.bytes }
                if calendars != nil { context.calendars = reader.problems.hasErrors ? nil : calendars }
                var found: [RuleFile] = []
                let paths = reader.rulePaths(root)
                for (path, node) in paths {
                    if let rule = rules(path) {
                        found.append(rule)
                    } else {
                        reader.report(
                            "missing-file", "there is no rule file \(path)", at: node,
                            help: "`rules:` names files in the folder of this file")
                    }
                }
                let book =
                    found.count < paths.count
                    ? nil
                    : calendars == nil && zoned == nil
                        ? book(of: found, context, coverage, &shared, &problems)
                        : book(of: found, context, coverage, &own, &problems)
                if let book {
                    let tests = reader.tests(root, of: book, in: context)
                    if !reader.problems.hasErrors { results += tests.map { run($0, file: file.path, restarts, coverage) } }
                }
            }
            let before = problems.all.count
            problems.report(reader.problems)
            problems.sort(from: before)
        }
        if problems.hasErrors { throw problems }
        return results
    }

    /// Adds rules that no test names to a record, as uncovered.
    ///
    /// - Throws: every problem of the files.
    public static func addUntested(
        _ files: [RuleFile], to coverage: CoverageRecord, context: RuleContext
    ) throws(Diagnostics) {
        _ = try RuleBook.loadToExplain(files, context: context, coverage: coverage)
    }

    private static func book(
        of files: [RuleFile], _ context: RuleContext, _ coverage: CoverageRecord?, _ books: inout [[String]: RuleBook?],
        _ problems: inout Diagnostics
    ) -> RuleBook? {
        let key = files.map(\.path)
        if let book = books[key] { return book }
        do throws(Diagnostics) {
            let book = try RuleBook.loadToExplain(files, context: context, coverage: coverage)
            books[key] = book
            return book
        } catch {
            books[key] = .some(nil)  // its problems were reported already
            problems.report(error)
            return nil
        }
    }

    private static func run(
        _ test: TestCase, file: String, _ restarts: Bool, _ coverage: CoverageRecord?
    ) -> RuleTestResult {
        var run = TestRun(test.book, at: test.start, silences: test.silences)
        for step in test.given {
            if restarts { run.perform(.restart) }
            run.perform(step)
        }
        run.finish()
        for (rule, steps) in run.ran {
            guard let file = test.book.rule(named: rule)?.summary.file else { continue }
            for step in steps { coverage?.note(step, of: rule, in: file) }
        }
        return RuleTestResult(file: file, line: test.line, name: test.name, problems: TestComparison.problems(test, run))
    }
}

/// How one test of rules ended.
public struct RuleTestResult: Sendable, Hashable {
    public var file: String
    public var line: Int
    public var name: String
    /// Differences from the expectations; empty if the test passed.
    public var problems: [Diagnostic]

    public init(file: String, line: Int, name: String, problems: [Diagnostic]) {
        (self.file, self.line, self.name, self.problems) = (file, line, name, problems)
    }

    public var passed: Bool { problems.isEmpty }
}
