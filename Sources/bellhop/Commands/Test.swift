import ArgumentParser
import BellhopAgent
import BellhopCore
import BellhopRules

struct Test: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Run the tests of the rules.",
        discussion: "Tests are `*.test.yaml` files beside the rules. They run with their own clock and use no network.")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "Test files or folders; by default those beside the rules.")
    var paths: [String] = []

    func run() async throws {
        let workplace = try await Workplace.open(config, mayLackConfiguration: true, focus: .shape)
        let found = RuleFinder.find(paths.isEmpty ? workplace.rulePaths : paths)
        if found.problems.hasErrors { throw CommandError(found.problems) }
        if found.tests.isEmpty {
            let misnamed = RuleLoading.misnamedTests(found)
            if misnamed.hasErrors { throw CommandError(misnamed) }
            throw CommandError(.problem, "There are no tests here: they are files called `NAME.test.yaml`.")
        }
        let results: [RuleTestResult]
        do throws(Diagnostics) {
            results = try RuleTests.run(found.tests, surroundings: workplace.surroundings, rules: { RuleFinder.read($0) })
        } catch {
            throw CommandError(error)
        }
        let failed = results.count { !$0.passed }
        if output.json {
            Console.json(.array(results.map(\.json)))
        } else {
            for result in results { show(result) }
            Console.data("\(results.count - failed) passed, \(failed) failed")
        }
        if failed > 0 { throw ExitCode(CommandError.Code.problem.rawValue) }
    }

    private func show(_ result: RuleTestResult) {
        if result.passed { return Console.data("\(Paint.green("✓")) \(result.name.visible)") }
        Console.data("\(Paint.red("✗")) \(result.name.visible)")
        for problem in result.problems { Console.data(problem.rendered(colour: Console.dataHasColour)) }
    }
}

extension RuleTestResult {
    /// The result for programs.
    var json: JSON {
        [
            "file": .string(file), "line": .int(Int64(line)), "name": .string(name), "passed": .bool(passed),
            "problems": .array(problems.map(\.json)),
        ]
    }
}
