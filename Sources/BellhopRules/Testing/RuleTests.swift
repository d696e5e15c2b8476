public import BellhopCore

/// Runs the tests of rules: with a simulated clock, without a network or side effects.
public enum RuleTests {
    /// Runs the tests of these files against the rules they name, which must be among `rules`.
    ///
    /// - Throws: every problem of the files.
    public static func run(
        _ files: [RuleFile], rules: [RuleFile], surroundings: RuleSurroundings
    ) throws(Diagnostics) -> [RuleTestResult] {
        let byPath = Dictionary(rules.map { (TestFileReader.normalised($0.path), $0) }) { first, _ in first }
        return try run(files, surroundings: surroundings) { byPath[TestFileReader.normalised($0)] }
    }

    /// Runs the tests of these files against the rules they name.
    ///
    /// - Parameter rules: reads the rule file of a path; nil if there is none.
    /// - Throws: every problem of the files.
    public static func run(
        _ files: [RuleFile], surroundings: RuleSurroundings, rules: (_ path: String) -> RuleFile?
    ) throws(Diagnostics) -> [RuleTestResult] {
        var results: [RuleTestResult] = []
        var problems = Diagnostics()
        var books: [[String]: RuleBook?] = [:]
        for file in files {
            var reader = TestFileReader(file)
            if let root = reader.root() {
                var found: [RuleFile] = []
                let paths = reader.rulePaths(root)
                for (path, node) in paths {
                    if let rule = rules(path) {
                        found.append(rule)
                    } else {
                        reader.report(
                            "missing-file", "there is no rule file \(path)", at: node,
                            help: "`rules:` names files beside this one")
                    }
                }
                if found.count == paths.count, let book = book(of: found, surroundings, &books, &problems) {
                    let tests = reader.tests(root, of: book, in: surroundings)
                    if !reader.problems.hasErrors { results += tests.map { run($0, book, file: file.path) } }
                }
            }
            let before = problems.all.count
            problems.report(reader.problems)
            problems.sort(from: before)
        }
        if problems.hasErrors { throw problems }
        return results
    }

    private static func book(
        of files: [RuleFile], _ surroundings: RuleSurroundings, _ books: inout [[String]: RuleBook?],
        _ problems: inout Diagnostics
    ) -> RuleBook? {
        let key = files.map(\.path)
        if let book = books[key] { return book }
        do throws(Diagnostics) {
            let book = try RuleBook.explainable(files, surroundings: surroundings)
            books[key] = book
            return book
        } catch {
            books[key] = .some(nil)  // its problems were reported already
            problems.report(error)
            return nil
        }
    }

    private static func run(_ test: TestCase, _ book: RuleBook, file: String) -> RuleTestResult {
        var run = TestRun(book, at: test.start, silences: test.silences)
        for step in test.given { run.perform(step) }
        return RuleTestResult(file: file, line: test.line, name: test.name, problems: TestComparison.problems(test, run))
    }
}
