public import BellhopCore

extension RuleBook {
    /// The rules of other files, checked against the sources and connections of these.
    ///
    /// - Parameter coverage: counts which parts of them run; nil for rules that only run.
    public func loading(
        _ files: [RuleFile], coverage: CoverageRecord? = nil
    ) throws(Diagnostics) -> RuleBook {
        guard let coverage else { return try Self.load(files, context: context) }
        return try Self.loadToExplain(files, context: context, coverage: coverage)
    }

    /// Runs tests against other files, with the sources and connections of these rules.
    ///
    /// - Parameter others: reads the rule file of a path that is not among `rules`; nil if there is none.
    public func test(
        _ tests: [RuleFile], rules: [RuleFile], others: (_ path: String) -> RuleFile?
    ) throws(Diagnostics) -> [RuleTestResult] {
        let byPath = Dictionary(rules.map { (TestFileReader.normalised($0.path), $0) }) { first, _ in first }
        return try RuleTests.run(tests, context: context) { byPath[TestFileReader.normalised($0)] ?? others($0) }
    }

    /// A case for a file of tests: given the event, or the events of the first of `facts`, the rules do what they did.
    public func explainedTest(
        of event: StoredEvent?, in facts: [ExplanationFacts], files: [RuleFile]
    ) throws(Diagnostics) -> ExplainedTest {
        try ExplainedTest(of: event, in: facts, by: self, files: files, context: context)
    }
}
