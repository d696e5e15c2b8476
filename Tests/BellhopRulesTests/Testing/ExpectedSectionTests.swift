import BellhopCore
import BellhopRules
import Testing

/// The sections of a message in the tests of rules.
@Suite struct `Expected sections` {
    private static let rule = """
        rule: r
        on: task_created
        from: my-work
        do:
          - notify:
              to: ops
              sections:
                - {title: New, text: "**Help**", fields: {State: "${{ task.state }}"}}
                - {title: Numbers, list: {of: "[task.number]", as: n, item: "`${{ n }}`"}}
        """

    private func problems(_ sections: String) -> [String] {
        Fixture.problems(
            """
            tests:
              - name: t
                given: [{task_created: {task: {id: a1, number: INC1, state: 2}}}]
                expect: [{notify: {sections: \(sections)}}]
            """, of: Self.rule)
    }

    @Test(arguments: [
        "[\"New\\nHelp\\nState: 2\", \"Numbers\\nINC1\"]",
        "[{title: New, text: Help}, {list: [INC1]}]",
        "[{text: \"**Help**\", fields: {State: 2}}, {title: Numbers, list: [\"`INC1`\"]}]",
        "[{title: New}, \"Numbers\\nINC1\"]",
    ])
    func `a section is expected as plain text, or as a mapping with some of its members`(_ sections: String) {
        #expect(problems(sections) == [])
    }

    @Test(arguments: [
        ("[{title: New}, {list: [INC2]}]", "`sections[1].list[0]` is not \"INC2\""),
        ("[{title: New}, {titel: Numbers}]", "unknown-key: `sections` has no setting `titel`"),
    ])
    func `a different section is reported with its place, and an unknown member too`(_ sections: String, _ expected: String) {
        let found = problems(sections)
        #expect(found.count == 1 && found[0].hasPrefix(expected), "\(found)")
    }
}
