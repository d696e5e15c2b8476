import CEL
import Testing

/// The first look at each part of the language.
struct FirstLook {
    @Test(arguments: [
        ("1 + 2 * 3 == 7", true), ("'a' + 'b' == \"ab\"", true), ("[1,2,3].filter(x, x > 1).map(x, x * 2) == [4, 6]", true),
        ("{'a': 1}.a == 1 && has({'a': 1}.a) && !has({'a': 1}.b)", true), ("1/0 == 1 || true", true),
        ("'abc'.split('') == ['a','b','c']", true),
        ("timestamp('2026-01-05T09:00:00Z') + duration('1h') > timestamp('2026-01-05T09:30:00Z')", true),
        ("timestamp('2026-07-05T09:00:00Z').getHours('Europe/Berlin') == 11", true),
        ("['b','a'].sortBy(x, x).join(',') == 'a,b'", true), ("'héllo'.substring(1, 3) == 'él'", true),
        ("'aXbX'.replace('X', '-') == 'a-b-' && 'abc'.matches('^a.c$')", true),
    ])
    func `expressions give their values`(_ text: String, _ expected: Bool) throws {
        let environment = Environment()
        #expect(try environment.compile(text).program.evaluate(in: environment) == .bool(expected))
    }

    @Test func `a slot is asked for once`() throws {
        var environment = Environment()
        environment.declare(
            "task", .object(ObjectType("task", fields: [.init("priority", .nullable(.int)), .init("title", .string)])))
        let expression = try environment.compile("task.priority <= 2 && task.title.contains('disk') && task.priority != 7")
        #expect(expression.references.slots.map(\.description) == ["task.priority", "task.title"])
        #expect(try expression.program.evaluate(["task": .map(["priority": 1, "title": "the disk"])], in: environment) == true)
        do throws(Issues) {
            _ = try environment.compile("task.pririty == '2' || task.priority == '2' || task.title < 3")
        } catch { print(error) }
    }
}
