import CEL
import Testing

/// The messages of the parser and the checker, as a whole.
struct CheckerTests {
    @Test(arguments: [
        Line("", "empty-expression: the expression is empty at "),
        Line("1 +", "syntax: the expression ends too early at  (expected a value)"),
        Line("(1", "syntax: the expression ends too early at  (expected `)`)"),
        Line("1 2", "syntax: 2 does not belong here at 2"), Line("a.1", "syntax: 0.1 does not belong here at .1"),
        Line("task.title = 'a'", "strange-character: `=` is not allowed here at = (compare with `==`)"),
        Line("true & false", "strange-character: `&` is not allowed here at & (write `&&`)"),
        Line("true | false", "strange-character: `|` is not allowed here at | (write `||`)"),
        Line("true;", "strange-character: `;` is not allowed here at ; (an expression has no `;`)"),
        Line("${{ task }}", "strange-character: `$` is not allowed here at $ (inside an expression, write names without `${{`)"),
        Line("‘a’", "strange-character: `‘` is not allowed here at ‘ (use straight quotes)"),
        Line("#", "strange-character: `#` is not allowed here at #"),
        Line("„a“", "strange-character: `„` is not allowed here at „ (use straight quotes)"),
        Line("1 ≤ 2", "strange-character: `≤` is not allowed here at ≤ (write `<=`)"),
        Line(
            "1\u{A0}< 2",
            "strange-character: a no-break space (U+00A0) is not allowed here at \u{A0} (write an ordinary blank, or delete it)"),
        Line(
            "task.größe == 1",
            "strange-character: `ö` is not allowed here at ö (a name has only the letters a to z, digits and `_`; a text needs quotes)"
        ),
        Line("task.?", "syntax: the expression ends too early at  (expected the name of a field or a function)"),
        Line("“a”", "strange-character: `“` is not allowed here at “ (use straight quotes)"),
        Line(
            "'a",
            "unterminated-string: the string is not closed at 'a (close the quote, or use three quotes for a text of several lines)"
        ), Line("'''a", "unterminated-string: the string is not closed at '''a"),
        Line(
            #"'\d'"#,
            #"bad-escape: unknown escape in a string at \d (write `\\` for a backslash, or r"…" for a text without escapes)"#
        ), Line("1x", "bad-number: `1x` is not a number at 1x"),
        Line("9223372036854775808", "number-too-large: the number does not fit 64 bits at 9223372036854775808"),
        Line("18446744073709551616u", "number-too-large: the number does not fit 64 bits at 18446744073709551616u"),
        Line(
            "task.`a$`",
            #"bad-field-name: a name in backticks may contain letters, digits, `_`, `.`, `-`, `/` and blanks at $ (use ["…"] for other names)"#
        ),
        Line("while", "reserved-name: `while` is a reserved word of the language at while"),
        Line("!-1", "syntax: `!` and `-` cannot follow each other at - (put the inner part in parentheses)"),
        Line("has(task)", "has-needs-field: has() needs a field at task (write it as has(task.title))"),
        Line("tasks.map(1, 2)", "not-a-variable: map() needs the name of a variable here at 1 (such as map(t, …))"),
        Line("tasks.all(a, a, true)", "same-variable-twice: `a` is the name of both variables at a"),
        Line(
            "cel.bind(1, 2, 3)", "not-a-variable: cel.bind() needs the name of a variable here at 1 (such as cel.bind(t, …))"),
        Line("cel.block(1, 2)", "block-needs-list: cel.block() needs a list of values as its first argument at 1"),
        Line("cel.index('a')", "block-needs-number: a number such as 0 belongs here at 'a'"),
    ])
    func `a syntax error is reported with its place and a hint`(_ line: Line) {
        #expect(problems(line.text, in: Sample.environment) == line.expected)
    }

    @Test(arguments: [
        Line("tsk.title", "unknown-name: unknown name `tsk` at tsk (did you mean `task`?)"),
        Line("priority == 1", "unknown-name: unknown name `priority` at priority (did you mean `task.priority`?)"),
        Line("task.pririty == 1", "unknown-field: no field `pririty` on task at pririty (did you mean `priority`?)"),
        Line("has(task.titel)", "unknown-field: no field `titel` on task at titel (did you mean `title`?)"),
        Line("tasks.any(t, t.title == 'a')", "unknown-function: unknown function `any` at any"),
        Line(
            "task.created - task.created > 90",
            "incomparable-types: `>` cannot compare a duration with an int at task.created - task.created > 90 (write `task.created - task.created > duration(\"90s\")`)"
        ),
        Line("task.title.contians('a')", "unknown-function: unknown function `contians` at contians (did you mean `contains`?)"),
        Line("task.title.size", "no-fields: a string has no fields at size"),
        Line(
            "task.priority == '2'",
            "incomparable-types: `==` cannot compare an int with a string at task.priority == '2' (write `task.priority == 2`)"),
        Line(
            "task.title == 2",
            #"incomparable-types: `==` cannot compare a string with an int at task.title == 2 (write `task.title == "2"`)"#),
        Line(
            "task.priority != 1.0",
            "incomparable-types: `!=` cannot compare an int with a double at task.priority != 1.0 (write `task.priority != 1`)"),
        Line(
            "task.score == task.priority",
            "incomparable-types: `==` cannot compare a double with an int at task.score == task.priority (write `task.score == double(task.priority)`)"
        ),
        Line(
            "task.created > '2026-01-05T09:00:00Z'",
            "incomparable-types: `>` cannot compare a timestamp with a string at task.created > '2026-01-05T09:00:00Z' (write `task.created > timestamp('2026-01-05T09:00:00Z')`)"
        ),
        Line(
            "task.created > '2026-01-05'",
            "incomparable-types: `>` cannot compare a timestamp with a string at task.created > '2026-01-05' (write `task.created > timestamp(\"2026-01-05T00:00:00Z\")`)"
        ),
        Line(
            "task.created > 'yesterday'",
            "incomparable-types: `>` cannot compare a timestamp with a string at task.created > 'yesterday'"),
        Line(
            "task.priority == 'high'", "incomparable-types: `==` cannot compare an int with a string at task.priority == 'high'"),
        Line(
            "task.active == 'true'",
            "incomparable-types: `==` cannot compare a bool with a string at task.active == 'true' (write `task.active == true`)"),
        Line(
            "'2' in [1, 2]",
            "incomparable-types: `in` cannot compare a string with a list(int) at '2' in [1, 2] (write `2 in [1, 2]`)"),
        Line(
            "task.priority / 2.0",
            "no-such-operator: `/` does not work on an int and a double at task.priority / 2.0 (write `task.priority / 2`)"),
        Line(
            "100 / task.score",
            "no-such-operator: `/` does not work on an int and a double at 100 / task.score (write `100.0 / task.score`)"),
        Line(
            "task.priority / task.score",
            "no-such-operator: `/` does not work on an int and a double at task.priority / task.score (write `double(task.priority) / task.score`)"
        ),
        Line(
            "task.title + task.priority",
            "no-such-operator: `+` does not work on a string and an int at task.title + task.priority (write `task.title + string(task.priority)`)"
        ), Line("-task.title", "no-such-operator: `-` does not work on a string at -task.title"),
        Line("task.title * 3", "no-such-operator: `*` does not work on a string and an int at task.title * 3"),
        Line("\"5\" * 3", "no-such-operator: `*` does not work on a string and an int at \"5\" * 3 (write `5 * 3`)"),
        Line(
            "task.title.contains(1)",
            "no-such-overload: there is no string.contains(int) at contains (use string.contains(string))"),
        Line(
            "size(1)",
            "no-such-overload: there is no size(int) at size (use size(string), size(bytes), size(list(A)), size(map(A, B)))"
        ), Line("task.title && true", "wrong-type: each side of `&&` must be a bool, but this is a string at task.title"),
        Line("task.title ? 1 : 2", "wrong-type: the condition before `?` must be a bool, but this is a string at task.title"),
        Line("true ? 1 : 'a'", "incomparable-types: `?:` cannot compare an int with a string at true ? 1 : 'a'"),
        Line("task.title.map(x, x)", "not-a-list: map() needs a list or a map, but this is a string at task.title"),
        Line("tasks.filter(t, t.title)", "wrong-type: the condition of filter() must be a bool, but this is a string at t.title"),
        Line(
            "tasks.sortBy(t, t.labels)",
            "wrong-type: the key of sortBy() must be a string, but this is a map(string, string) at t.labels"),
        Line(
            "Thing{a: 1}",
            #"unknown-type: there is no type `Thing` to make an object of at Thing (write a map: {"field": value})"#),
        Line(
            "task.title.matches('a(')",
            "invalid-argument: invalid regular expression: missing ): a( at 'a(' (the syntax is RE2's: no look-around, no back-references)"
        ),
        Line(
            "task.created.format('yyyy-qq')",
            #"invalid-argument: `qq` is not part of a time pattern at 'yyyy-qq' (such as "yyyy-MM-dd HH:mm"; text between single quotes is literal)"#
        ),
        Line(
            "task.created.getHours('Berlin')",
            #"invalid-argument: unknown time zone "Berlin" at 'Berlin' (write a name such as "Europe/Berlin")"#),
        Line(
            "task.created.format('HH:mm', 'Europe/Berln')",
            #"invalid-argument: unknown time zone "Europe/Berln" at 'Europe/Berln' (write a name such as "Europe/Berlin")"#),
        Line("math.greatest(1, 'a')", "invalid-argument: math.greatest() compares numbers at 'a'"),
        Line("[?1]", "wrong-type: the value after `?` must be an optional(dyn), but this is an int at 1"),
        Line(
            "task.title.optMap(x, x)",
            "wrong-type: the target of optMap() must be an optional(dyn), but this is a string at task.title"),
        Line(
            "{'a': 1}.transformMapEntry(k, v, v)",
            "wrong-type: the result of transformMapEntry() must be a map(dyn, dyn), but this is an int at v"),
        Line(
            "optional.of(1).optFlatMap(x, x)",
            "wrong-type: the result of optFlatMap() must be an optional(dyn), but this is an int at x"),
    ])
    func `a wrong name or type is reported with its place and a hint`(_ line: Line) {
        #expect(problems(line.text, in: Sample.environment) == line.expected)
    }

    /// Up to a third of the letters may differ, and one of two letters; at least one must match.
    @Test(
        arguments: [
            ("tsk", "task"), ("atsk", "task"), ("tsks", "tasks"), ("task", nil), ("tusk", "task"), ("tuck", nil), ("nope", nil),
            ("q", nil),
            ("evnt", "event"), ("evetn", "event"), ("ovont", nil), ("befroe", "before"), ("bifora", "before"), ("bifara", nil),
            ("xyz", nil), ("anythnig", "anything"), ("onythung", "anything"), ("timezone", nil),
        ] as [(String, String?)])
    func `the name most similar to a misspelled one is suggested`(_ written: String, _ meant: String?) {
        let found = problems(written, in: Sample.environment)
        let suggestion = found.split(separator: "`").dropFirst(2).first { found.contains("did you mean `\($0)`?") }
        #expect(suggestion.map(String.init) == meant, "\(found)")
    }

    @Test func `all mistakes are reported at once, in the order of the text`() {
        let found = problems("task.pririty == 1 && tsk.title == 'a' && task.title == 2", in: Sample.environment)
        #expect(
            found.split(separator: "\n").map { $0.prefix { $0 != ":" } } == [
                "unknown-field", "unknown-name", "incomparable-types",
            ])
    }

    @Test(arguments: [
        Line("1", "int"), Line("task.priority", "int"), Line("task.priority == null", "bool"), Line("before.title", "string"),
        Line("[1, 2.0]", "list(dyn)"), Line("[[], [1]]", "list(list(int))"), Line("{'a': [1]}", "map(string, list(int))"),
        Line("tasks.map(t, t.title)", "list(string)"),
        Line("tasks.filter(t, t.priority < 3)", "list(task)"), Line("tasks.sortBy(t, t.created)[0].number", "string"),
        Line("tasks[0].labels.state", "string"), Line("task.created - task.created", "duration"), Line("type(1)", "type(int)"),
        Line("optional.of(1)", "optional(int)"),
        Line("task.labels.?state.orValue('')", "string"), Line("anything.a.b", "dyn"), Line("true ? task.priority : null", "int"),
        Line("tasks.first().value().title", "string"), Line("math.greatest(1, 2)", "int"), Line("math.greatest(1, 2.0)", "dyn"),
        Line("[].map(x, x)", "list(dyn)"),
    ])
    func `a correct expression has the expected type`(_ line: Line) {
        #expect(problems(line.text, in: Sample.environment) == "fine: \(line.expected)")
    }

    @Test func `an expression must have the type required by its place`() {
        let error = #expect(throws: Issues.self) { try Sample.environment.compile("task.title", expecting: .bool) }
        #expect(error?.all.map(\.message) == ["the expression's type here must be a bool, but this is a string"])
    }
}
