import BellhopCore
import BellhopRules
import Testing

@Suite struct DiagnosticsTests {
    @Test func `each mistake in a rule file is reported as on the golden page`() throws {
        try compare("rules.txt", heading: "The diagnostics for mistakes in rule files.") { Fixture.diagnostics($0) }
    }

    @Test func `each mistake in a test file is reported as on the golden page`() throws {
        let heading = "The results of tests of this rule, and the diagnostics for mistakes in them:\n\n\(Self.rule)"
        try compare("tests.txt", heading: heading) { tests in
            do throws(Diagnostics) {
                let results = try RuleTests.run(
                    [RuleFile("rules/ack.test.yaml", tests)], rules: [RuleFile("rules/ack.yaml", Self.rule)],
                    context: Fixture.context())
                let problems = results.flatMap(\.problems)
                return problems.isEmpty ? "passed" : problems.map { $0.rendered() }.joined(separator: "\n")
            } catch {
                return error.all.map { $0.rendered() }.joined(separator: "\n")
            }
        }
    }

    /// Compares the answers to the questions of a page, line by line.
    private func compare(_ name: String, heading: String, _ diagnose: (String) -> String) throws {
        var page = try GoldenPage("../Golden/\(name)")
        #expect(!page.cases.isEmpty)
        for index in page.cases.indices {
            let answer = diagnose(page.cases[index].question)
            if GoldenPage.isUpdating {
                page.cases[index].answer = answer
            } else {
                let (now, recorded) = (answer.split(separator: "\n"), page.cases[index].answer.split(separator: "\n"))
                #expect(now == recorded, "\(page.cases[index].title)")
            }
        }
        if GoldenPage.isUpdating { try page.save(heading: heading) }
    }

    private static let rule = """
        rule: ack
        on: [task_created, task_changed]
        from: my-work
        when: task.class == "incident"
        do:
          - comment: Thanks, ${{ task.number }}.
          - notify: {to: [ops, pager], title: "${{ task.number }}", text: "**${{ task.title }}**"}
            if: task.priority == 1
        """
}
