import BellhopCore
import BellhopRules
import Testing

@Suite struct DamagedRulesTests {
    /// Random numbers that are the same on each run.
    private struct Numbers {
        var state: UInt64
        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
    }

    private static let text = """
        rule: r
        description: "A \\u00e4 rule"
        on: [task_created, {task_changed: {state: {from: [1, New], to: 2}}}, {schedule: "30 8 * * MON-FRI", missed: all}]
        from: [my-work]
        let: {urgent: task.priority <= 2 && task.title.contains("x")}
        when: |
          urgent || size(tasks) > 1 &&
            age(task.due_date) > duration("1h")
        once: task.id + event.type
        throttle: {every: 1h, by: task.id}
        limit: 20/h
        do:
          - comment: {text: "Ä ${{ task.number }} $${{ x }}", visibility: internal}
            if: task.class == "incident"
          - notify:
              to: [ops, pager]
              title: ${{ size(tasks) }} open
              text: >
                **Look** at [${{ task.title }}](${{ task.url }})
                - `one` _two_
              list: {of: "tasks.filter(t, t.priority == 1)", as: t, item: "${{ t.number }}", max: 3, empty: "None"}
        """

    @Test(arguments: 0..<8) func `a damaged rule file is refused with diagnostics or works, and never crashes`(_ seed: Int) {
        var numbers = Numbers(state: UInt64(seed + 1))
        let whole = Array(Self.text.utf8)
        let pieces: [[UInt8]] = [
            "${{", "}}", "'", "\"", ": ", "- ", "[", "}", "\n", "\t", " #", "&a ", "*a", "!!", "\u{0}", "ä", "|\n", "task.", "((",
            "0",
        ].map { Array($0.utf8) }
        for _ in 0..<60 {
            var bytes = whole
            for _ in 0...numbers.next(3) {
                let at = numbers.next(bytes.count)
                let end = min(bytes.count, at + numbers.next(12))
                bytes.replaceSubrange(at..<end, with: numbers.next(2) == 0 ? [] : pieces[numbers.next(pieces.count)])
            }
            let file = RuleFile(path: "rules/damaged.yaml", bytes: bytes)
            do throws(Diagnostics) {
                let book = try RuleBook.load([file], context: Fixture.context())
                _ = book.route([Fixture.event(.taskCreated, Fixture.task(fields: ["priority": 1]))])
            } catch {
                #expect(error.hasErrors)
                for diagnostic in error.all { #expect(!diagnostic.rendered().isEmpty && diagnostic.place != nil) }
            }
        }
    }
}
