import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct Test: DataCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Run the tests of the rules.",
        discussion: """
            The tests of `NAME.yaml` are in `NAME.test.yaml` beside it. They run with their own clock and use no network.

            --coverage shows each rule file that the tests do not cover in full, line by line: ✓ before covered lines, ✗ before uncovered \
            ones, ~ before partly covered ones, and below what is missing. A condition is covered when each of its parts was \
            both true and false.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show which parts of the rules the tests cover.")
    var coverage = false

    @Option(help: "Exit with 1 if the tests cover less of the rules than this, in percent.")
    var minimum: Int?

    @Option(help: "Write the results to this file as JUnit XML, for build servers.", completion: .file())
    var junit: String?

    @Argument(help: "Rule files, test files or folders; by default all.", completion: .file())
    var paths: [String] = []

    func validate() throws {
        if let minimum, !(0...100).contains(minimum) { throw ValidationError("--minimum must be a percentage from 0 to 100.") }
    }

    func run() async throws {
        let workspace = try await Workspace.open(config, mayLackConfiguration: true, focus: .shape)
        let found = RuleFinder.find(RuleFinder.withTests(paths.isEmpty ? workspace.rulePaths : paths))
        if found.problems.hasErrors { throw CommandError(found.problems) }
        if found.tests.isEmpty {
            let misnamed = RuleLoading.misnamedTests(found)
            if misnamed.hasErrors { throw CommandError(misnamed) }
            throw CommandError(.problem, "There are no tests here: the tests of `NAME.yaml` are in `NAME.test.yaml` beside it.")
        }
        let results: [RuleTestResult]
        let record = coverage || minimum != nil ? CoverageRecord() : nil
        do throws(Diagnostics) {
            results = try RuleTests.run(found.tests, context: workspace.context, coverage: record) {
                RuleFinder.read($0)
            }
            if let record { try RuleTests.addUntested(found.rules, to: record, context: workspace.context) }
        } catch {
            throw CommandError(error)
        }
        let measured = record?.coverage
        if let junit { try Files.write(JUnitReport(results).xml, to: junit) }
        let failed = results.count { !$0.passed }
        if output.json {
            var report: JSON = ["tests": .array(results.map(\.json))]
            if let measured { report["coverage"] = measured.json }
            Console.json(report)
        } else {
            for result in results { show(result) }
            Console.data("\(results.count - failed) passed, \(failed) failed")
            if let measured, coverage { show(measured) }
        }
        if failed > 0 { throw ExitCode(CommandError.Code.problem.rawValue) }
        if let measured, let minimum, measured.percent < minimum {
            throw CommandError(
                .problem,
                "The tests cover \(measured.percent) % of the rules, less than the \(minimum) % of --minimum: --coverage shows where."
            )
        }
    }

    private func show(_ coverage: RuleCoverage) {
        Console.data("")
        for file in coverage.files {
            Console.data("\(Paint.bold(file.path.visible))  \(file.percent) % (\(file.covered) of \(file.points.count))")
            guard file.covered < file.points.count, let source = RuleFinder.read(file.path) else { continue }
            for line in RuleCoverage.lines(of: file, in: String(decoding: source.bytes, as: UTF8.self)) {
                if !line.isSource {
                    Console.data("      \(Paint.red(line.line.visible))")
                } else {
                    let paint: Paint = line.mark == "✓" ? .green : line.mark == " " ? .dim : .red
                    Console.data("  \(paint("\(line.mark)")) \(Paint.dim("|")) \(line.line.visible)")
                }
            }
        }
        Console.data("The tests cover \(coverage.percent) % of the rules: \(coverage.covered) of \(coverage.all) points.")
    }

    private func show(_ result: RuleTestResult) {
        if result.passed { return Console.data("\(Paint.green("✓")) \(result.name.visible)") }
        Console.data("\(Paint.red("✗")) \(result.name.visible)")
        for problem in result.problems { Console.data(problem.rendered(colour: Console.dataHasColour)) }
    }
}

extension RuleTestResult {
    var json: JSON {
        [
            "file": .string(file), "line": .int(Int64(line)), "name": .string(name), "passed": .bool(passed),
            "problems": .array(problems.map(\.json)),
        ]
    }
}
