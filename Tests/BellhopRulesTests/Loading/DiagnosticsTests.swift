import BellhopCore
import BellhopRules
import Testing

@Suite struct DiagnosticsTests {
    @Test func `each mistake in a rule file is reported as on the golden page`() throws {
        var page = try GoldenPage("../Golden/rules.txt")
        for index in page.cases.indices {
            let answer = Fixture.diagnostics(page.cases[index].question)
            if GoldenPage.isUpdating {
                page.cases[index].answer = answer
            } else {
                #expect(answer == page.cases[index].answer, "\(page.cases[index].title)")
            }
        }
        #expect(page.cases.count > 50)
        if GoldenPage.isUpdating { try page.save(heading: "The diagnostics for mistakes in rule files.") }
    }

    @Test func `each mistake in a test file is reported as on the golden page`() throws {
        let rules = [RuleFile("rules/ack.yaml", Self.rule)]
        var page = try GoldenPage("../Golden/tests.txt")
        for index in page.cases.indices {
            let file = RuleFile("rules/ack.test.yaml", page.cases[index].question)
            var answer: String
            do throws(Diagnostics) {
                let results = try RuleTests.run([file], rules: rules, context: Fixture.context())
                answer = results.flatMap(\.problems).map { $0.rendered() }.joined(separator: "\n")
            } catch {
                answer = error.all.map { $0.rendered() }.joined(separator: "\n")
            }
            if answer.isEmpty { answer = "passed" }
            if GoldenPage.isUpdating {
                page.cases[index].answer = answer
            } else {
                #expect(answer == page.cases[index].answer, "\(page.cases[index].title)")
            }
        }
        #expect(page.cases.count > 15)
        if GoldenPage.isUpdating {
            try page.save(heading: "The results of tests of this rule, and the diagnostics for mistakes in them:\n\n\(Self.rule)")
        }
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
