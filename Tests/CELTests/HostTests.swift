import CEL
import Testing

/// The interface for hosts: slots, objects, functions, equalities, explanations, templates, limits.
struct HostTests {
    /// Records the slots that are read.
    private final class Counting: Resolver {
        var asked: [String] = []
        let task: Value
        init(_ task: Value) { self.task = task }
        func value(of slot: Slot) -> Value? {
            asked.append(slot.description)
            return slot.variable == "task" && slot.path.isEmpty ? task : nil
        }
    }

    private final class Row: HostObject {
        let number: String
        let priority: Int64?
        init(_ number: String, _ priority: Int64?) { (self.number, self.priority) = (number, priority) }
        var celType: CELType { .object(Sample.task) }
        var fieldNames: [String] { ["number", "priority"] }
        func value(named name: String) -> Value? {
            switch name {
            case "number": .string(number)
            case "priority": priority.map { .int($0) } ?? .null
            default: nil
            }
        }
    }

    private final class Rows: HostList {
        let count = 10_000
        func element(at index: Int) -> Value { .object(Row("T\(index)", index % 7 == 0 ? nil : Int64(index % 5))) }
    }

    @Test func `each slot is read once per event, and only when needed`() throws {
        let environment = Sample.environment
        let first = try environment.compile("task.priority <= 2 && task.title == 'a'").program
        let second = try environment.compile("task.priority > 2").program
        let resolver = Counting(.map(["priority": 3, "title": "a"]))
        let activation = Activation(environment, resolver: resolver)
        #expect(!first.holds(activation))
        #expect(second.holds(activation))
        #expect(resolver.asked == ["task.priority", "task"])
        activation.begin(resolver)
        _ = first.holds(activation)
        #expect(resolver.asked.count == 4)
    }

    @Test(arguments: ["anything.?priority", "anything[?'priority']"])
    func `an optional field of an object is absent if it is null`(_ text: String) throws {
        let program = try Sample.environment.compile(text).program
        let row = Value.object(Row("T1", nil))
        #expect(try program.evaluate(["anything": row], in: Sample.environment).description == "optional.none()")
    }

    @Test func `a selector has a variable with a type of its own for each literal text, and refuses anything else`() throws {
        var environment = Sample.environment
        environment.declare(
            Environment.VariableSelector("pick") { name in
                switch name {
                case "numbers"?: .success(.init("pick(numbers)", .list(.int), scope: "n"))
                case "words"?: .success(.init("pick(words)", .list(.string), scope: "w"))
                case let name?: .failure(.init("there is no `\(name)`", help: "there is `numbers`"))
                case nil: .failure(.init("`pick` takes a literal text"))
                }
            })
        let resolver = Bindings(["pick(numbers)": .list([1, 2]), "pick(words)": .list(["a"])])
        func value(_ text: String) throws -> Value {
            try environment.compile(text).program.evaluate(Activation(environment, resolver: resolver))
        }
        #expect(try value("pick('numbers').exists(n, n > 1) && pick(\"words\")[0] == 'a'") == true)
        #expect(try environment.check("pick('words')") == .list(.string))
        #expect(try environment.compile("size(pick('words'))").references.variables == ["pick(words)"])
        for (text, message) in [
            ("pick('letters')", "there is no `letters`"), ("pick(task.title)", "`pick` takes a literal text"),
            ("pick()", "`pick` takes a literal text"), ("pick('a', 'b')", "`pick` takes a literal text"),
        ] {
            let error = #expect(throws: Issues.self) { try environment.compile(text) }
            #expect(error?.all.map(\.message) == [message])
        }
        let error = #expect(throws: Issues.self) { try environment.compile("picks('words')") }
        #expect(error?.all.map(\.help) == ["did you mean `pick`?"])
    }

    @Test func `a variable can be defined by an expression, in its own scope`() throws {
        let base = Sample.environment
        var one = base
        one.declare(Environment.Variable("limit", try base.compile("task.priority + 1"), scope: "one"))
        var two = base
        two.declare(Environment.Variable("limit", try base.compile("task.priority + 2"), scope: "two"))
        let activation = Activation(base, resolver: Bindings(["task": .map(["priority": 1])]))
        #expect(try one.compile("limit").program.evaluate(activation) == 2)
        #expect(try two.compile("limit * 10").program.evaluate(activation) == 30)
    }

    @Test func `the host's objects and lists are read in place`() throws {
        let environment = Sample.environment
        let activation = Activation(
            environment, resolver: Bindings(["tasks": .list(Value.List(Rows())), "task": .object(Row("T1", nil))]))
        let count = try environment.compile("size(tasks.filter(t, t.priority != null && t.priority == 1))").program
        #expect(try count.evaluate(activation) == 1714)
        #expect(try environment.compile("task == task && task != tasks[0]").program.evaluate(activation) == true)
        #expect(try environment.compile("has(task.number) && !has(task.priority)").program.evaluate(activation) == true)
        #expect(try environment.compile("task").program.evaluate(activation).json == #"{"number":"T1","priority":null}"#)
    }

    @Test func `the host's functions have access to the run and can fail with messages of their own`() throws {
        var environment = Sample.environment
        environment.declare(
            Function(
                "shout",
                Overload(
                    [.string], .string,
                    .unary { activation, value throws(EvaluationError) in
                        guard case .string(let text) = value, activation.resolver is Bindings else {
                            throw EvaluationError(.host, "no resolver")
                        }
                        guard !text.isEmpty else { throw EvaluationError(.host, "nothing to shout") }
                        return .string(text.uppercased())
                    })))
        let bindings = Bindings(["task": .map(["title": "disk", "number": ""])])
        #expect(
            try environment.compile("shout(task.title)").program.evaluate(Activation(environment, resolver: bindings)) == "DISK")
        let failing = try environment.compile("1 == 1 && shout(task.number) == ''")
        #expect(throws: EvaluationError(.host, "nothing to shout", at: 10..<15)) {
            try failing.program.evaluate(Activation(environment, resolver: bindings))
        }
        #expect(failing.references.functions == ["_==_", "shout"])
        #expect(problems("shout(1)", in: environment) == "no-such-overload: there is no shout(int) at shout (use shout(string))")
    }

    @Test(arguments: [
        Line("event.type == 'a' && task.priority == 1", #"event.type: ["a"]; task.priority: [1]"#),
        Line(
            "'a' == event.type && (task.priority > 1 && task.title in ['x', 'y'])", #"event.type: ["a"]; task.title: ["x", "y"]"#),
        Line("event.type == 'a' || event.type == 'b' || event.type in ['c']", #"event.type: ["a", "b", "c"]"#),
        Line("event.type == 'a' || task.priority == 1", ""),
        Line("event.type == 'task_' + 'created'", #"event.type: ["task_created"]"#),
        Line("!(event.type == 'a')", ""), Line("event.type == 'a' ? true : false", ""),
    ])
    func `the equalities required by a condition are listed`(_ line: Line) throws {
        let expression = try Sample.environment.compile(line.text)
        let shown = expression.equalities.map { "\($0.slot): [\($0.values.map(\.description).joined(separator: ", "))]" }.joined(
            separator: "; ")
        #expect(shown == line.expected)
    }

    @Test func `the variables, slots and functions of an expression are listed`() throws {
        let references = try Sample.environment.compile(
            "size(tasks) > 1 && task.labels.state == task.title && tasks.all(t, t.title == task.title)"
        ).references
        #expect(references.variables == ["tasks", "task"])
        #expect(references.slots.map(\.description) == ["tasks", "task.labels.state", "task.title"])
        #expect(references.functions == ["_>_", "size", "_==_"])
    }

    @Test func `the namespace before a function's name is not a part of the explanation`() throws {
        let environment = Sample.environment
        let expression = try environment.compile("math.greatest(1, optional.of(2).value())")
        let (_, parts) = expression.explain(Activation(environment, resolver: Bindings([:])))
        #expect(
            parts.map(\.text) == [
                "math.greatest(1, optional.of(2).value())", "1", "optional.of(2).value()", "optional.of(2)", "2",
            ])
    }

    @Test func `an explanation has the value of each part`() throws {
        let environment = Sample.environment
        let expression = try environment.compile("task.priority <= 2 && [1, 2].exists(x, x == 2) || task.title == 'a'")
        let (_, parts) = expression.explain(Activation(environment, resolver: Bindings(["task": .map(["priority": 1])])))
        let shown = parts.map { part in
            let outcome =
                switch part.outcome {
                case .value(let value): value.description
                case .failure(let error): error.code.rawValue
                case .notEvaluated: "-"
                }
            return "\(part.depth) \(part.text) = \(outcome)\(part.times > 1 ? " (\(part.times) times)" : "")"
        }
        #expect(
            shown == [
                "0 task.priority <= 2 && [1, 2].exists(x, x == 2) || task.title == 'a' = true",
                "1 task.priority <= 2 && [1, 2].exists(x, x == 2) = true", "2 task.priority <= 2 = true", "3 task.priority = 1",
                #"4 task = {"priority": 1}"#, "3 2 = 2", "2 [1, 2].exists(x, x == 2) = true", "3 [1, 2] = [1, 2]", "4 1 = 1",
                "4 2 = 2", "3 x == 2 = true (2 times)", "4 x = 2 (2 times)", "4 2 = 2 (2 times)", "1 task.title == 'a' = -",
                "2 task.title = -", "3 task = -", "2 'a' = -",
            ])
    }

    @Test(
        arguments: [
            ("x }} rest", 2), ("'}}' }}", 5), ("{'a': {'b': 1}}}}", 15), ("{1: 2}.x }}", 9), ("// }}\n1 }}", 8), ("r'\\' }}", 5),
            ("'open }}", 6), ("x", nil), ("x } }", nil), ("\"\"\"}}\"\"\" + 'é' }}", 16),
        ] as [(String, Int?)])
    func `the end of an expression inside a template is found`(_ text: String, _ expected: Int?) {
        #expect(ExpressionScanner.end(of: Array(text.utf8), from: 0) == expected)
    }

    @Test func `values can be written as text and as JSON`() throws {
        #expect(
            Value.string("a").text == "a" && Value.double(1).text == "1" && Value.null.text == nil
                && Value.duration(.seconds(90)).text == "90s")
        let value = try evaluated(
            #"{'a': [1, 2u, 2.5, null, true], 'b': timestamp(0), 'c': b'hi', 'd': "q\"\n", 'e': 0.0 / 0.0, 'f': optional.none()}"#
        )
        #expect(value.json == #"{"a":[1,2,2.5,null,true],"b":"1970-01-01T00:00:00Z","c":"aGk=","d":"q\"\n","e":"NaN","f":null}"#)
    }
}
