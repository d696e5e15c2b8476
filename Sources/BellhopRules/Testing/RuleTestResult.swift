public import BellhopCore

/// How one test of rules ended.
public struct RuleTestResult: Sendable, Hashable {
    public var file: String
    public var line: Int
    public var name: String
    /// Differences from the expectations; empty if the test passed.
    public var problems: [Diagnostic]

    public init(file: String, line: Int, name: String, problems: [Diagnostic]) {
        self.file = file
        self.line = line
        self.name = name
        self.problems = problems
    }

    public var passed: Bool { problems.isEmpty }
}
