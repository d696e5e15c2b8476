import BellhopCore
import BellhopRules
import Testing

@Suite struct RuleLoadingTests {
    @Test func `the documented rules load without warnings`() throws {
        let book = try Fixture.book(
            """
            rule: acknowledge-new-incidents
            description: Leave a note on each new incident as soon as it is seen.
            on: task_created                       # a type, or a list of types
            from: my-work                          # a source, or a list; default: all
            when: task.class == "incident"         # CEL
            once: task.id                          # never twice for one task, whatever happens
            do:
              - comment: Thanks, ${{ task.number }} is in my queue. I will look at it shortly.
            ---
            rule: morning-digest
            on: {schedule: "30 8 * * MON-FRI", timezone: Europe/Berlin, missed: once}   # once | all | skip
            from: my-work
            do:
              - notify:
                  to: ops
                  title: ${{ size(tasks) }} open tasks
                  list:
                    of: tasks.sortBy(t, t.created)
                    as: t
                    item: "[${{ t.number }}](${{ t.url }}) ${{ t.title }}"
                    max: 20
                    empty: Nothing open. Well done.
            ---
            rule: page-for-unassigned-p1
            on: [task_created, task_changed]
            when: task.priority == 1 && task.assigned_to == ""
            throttle: {every: 1h, by: task.id}
            do:
              - notify: {to: [ops, pager], severity: critical, title: "${{ task.number }} is a P1 without an owner", text: "${{ task.title }}"}
              - webhook: {url: https://chat.example.com/hook, json: {text: "${{ task.number }}: ${{ task.title }}"}}
              - log: {text: "paged for ${{ task.number }}", level: warning, file: logs/pages.log}
            """)
        #expect(book.warnings == [])
        #expect(book.rules.map(\.name) == ["acknowledge-new-incidents", "morning-digest", "page-for-unassigned-p1"])
        #expect(book.rules.map(\.line) == [1, 10, 24])
        #expect(book.rules[1].schedule == "30 8 * * MON-FRI Europe/Berlin")
        #expect(book.rules[2].types == [.taskCreated, .taskChanged])
        #expect(book.rules[2].actions == ["notify", "webhook", "log"])
    }

    @Test func `files loaded in parallel give the same rules and problems in the same order`() async throws {
        func file(_ number: Int, when: String, name: String? = nil) -> RuleFile {
            RuleFile("rules/\(number).yaml", "rule: \(name ?? "r\(number)")\non: task_created\nwhen: \(when)\ndo: [{log: x}]\n")
        }
        let context = Fixture.context()
        let fine = (0..<200).map { file($0, when: $0 % 7 == 0 ? "task.priority != 4" : "task.priority == \($0)") }
        let (book, other) = (try RuleBook.load(fine, context: context), try await RuleBook.loadInParallel(fine, context: context))
        #expect(book.rules == other.rules)
        #expect(book.warnings == other.warnings)
        #expect(book.warnings.count == 29)
        for event in [Fixture.event(), Fixture.event(.taskChanged)] {
            #expect(book.route([event]).deliveries == other.route([event]).deliveries)
        }

        let wrong = (0..<200).map { file($0, when: $0 % 3 == 0 ? "task.pririty == 1" : "true", name: $0 % 50 == 49 ? "r0" : nil) }
        let problems = #expect(throws: Diagnostics.self) { try RuleBook.load(wrong, context: context) }
        let others = await #expect(throws: Diagnostics.self) { try await RuleBook.loadInParallel(wrong, context: context) }
        #expect(problems?.errorCount == 71)
        #expect(problems == others)
    }

    @Test func `an undeclared field is reported with its place and a suggestion`() {
        let text = """
            rule: page
            on: task_created
            from: incidents
            when: task.pririty == 1
            do: [{log: x}]
            """
        #expect(
            Fixture.diagnostics(text) == """
                rules/test.yaml:4:12: error: no field `pririty` on a task of source `incidents` [unknown-field]
                  4 | when: task.pririty == 1
                    |            ^~~~~~~ did you mean `priority`?
                """)
    }

    @Test func `a missing created is reported with the source that lacks it, and the field that it stands for`() {
        var mixed = Fixture.context()
        mixed.sources[0].schema = Fixture.assumed
        mixed.sources[1].schema = TaskSchema([.init("number", .text)], roles: Fixture.roles)
        let context = mixed
        let file = RuleFile("rules/test.yaml", "rule: r\non: task_created\nwhen: task.created != null\ndo: [{log: x}]\n")
        let problems = #expect(throws: Diagnostics.self) { try RuleBook.load([file], context: context) }
        #expect(problems?.all.map(\.message) == ["no field `created` on a task of source `incidents`"])
        #expect(
            problems?.all.map(\.help) == [
                "declare `sys_created_on`, which `created` stands for, under `fields` of source `incidents`, if its tasks have it, "
                    + "or read one source's tasks: `from: my-work`"
            ])
    }

    @Test(arguments: ["retry: 2", "expires: 1h", "on_error: stop", "if: task.number == ''"])
    func `a step's key among an action's arguments is reported with its correct place`(_ key: String) {
        let name = String(key.prefix { $0 != ":" })
        let diagnostics = Fixture.diagnostics("rule: r\non: task_created\ndo:\n  - comment: {text: x, \(key)}\n")
        #expect(diagnostics.contains("`comment` has no setting `\(name)` [unknown-key]"), "\(diagnostics)")
        #expect(diagnostics.contains("`\(name)` belongs next to `comment`, at the same depth"), "\(diagnostics)")
        #expect(diagnostics.split(separator: "\n").count == 3, "\(diagnostics)")
    }

    @Test func `a user that a source does not know yet is warned about where a rule reads it`() {
        let rule = "rule: r\non: task_created\nwhen: task.assigned_to == user\ndo: [{log: x}]\n"
        var context = Fixture.context()
        #expect(Fixture.findings(rule, in: context).isEmpty)
        for place in context.sources.indices where context.sources[place].name == "incidents" {
            (context.sources[place].user, context.sources[place].isUserKnown) = ("(api key of snow)", false)
        }
        #expect(
            Fixture.findings(rule, in: context).map(\.message) == [
                "the user of `incidents` is not known, so `user` is `(api key of snow)`"
            ])
        let login = "rule: r\non: login_event\nwhen: user == 'john.doe'\ndo: [{log: x}]\n"
        #expect(Fixture.findings(login, in: context).allSatisfy { $0.code != "unknown-user" })
    }
}
