import BellhopTesting
import CEL
import Testing

/// Expects that an evaluation ends at this limit of cost.
private func expectCostLimit(_ cost: Int64, _ text: String, _ variables: [String: Value] = [:]) throws {
    var limits = Limits()
    limits.cost = cost
    let error = try failure(text, variables, limits: limits)
    #expect(error.hasPrefix("cost-limit"), "\(error)")
}

/// Limits on expressions and on their evaluation: an error with a place, never a trap.
struct BoundsTests {
    @Test func `an expression that is too long is refused`() {
        let text = "1" + String(repeating: " ", count: 100_000)
        #expect(problems(text, in: Environment()).hasPrefix("expression-too-long: the expression is longer than 100000 bytes"))
    }

    @Test(arguments: [
        String(repeating: "(", count: 5000) + "1", String(repeating: "[", count: 5000),
        String(repeating: "!", count: 5000) + "true", "1" + String(repeating: " + 1", count: 5000),
        "x" + String(repeating: ".a", count: 5000),
        String(repeating: "true ? 1 : ", count: 5000) + "1", "x" + String(repeating: "[0]", count: 5000),
        String(repeating: "f(", count: 5000), String(repeating: "{1:", count: 5000), String(repeating: "-", count: 5000) + "x",
    ])
    func `an expression that is nested too deep is refused`(_ text: String) {
        #expect(problems(text, in: Environment()).hasPrefix("expression-too-deep: the expression is nested more than 250 deep"))
    }

    @Test func `long chains of conditions do not count as nesting`() throws {
        let text = (0..<5000).map { "x == \($0)" }.joined(separator: " || ")
        #expect(try evaluated(text, ["x": 4999]) == true)
    }

    @Test(arguments: [
        Line("lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))", "cost-limit"),
        Line("lists.range(9223372036854775807)", "memory-limit"),
        Line("lists.range(1000).map(x, lists.range(x + 1000))", "cost-limit"),
        Line(
            "cel.bind(a, 'xxxxxxxxxxxxxxxx', " + String(repeating: "cel.bind(a, a + a + a + a, ", count: 20) + "size(a)"
                + String(repeating: ")", count: 21), "memory-limit"),
        Line("lists.range(1000).map(x, x < 0 || lists.range(100000).exists(y, y < 0)) == []", "cost-limit"),
        Line("lists.range(1000).all(x, lists.range(1000).sortBy(y, -y)[0] > 0 || x > 1)", "cost-limit"),
        Line(
            "['a'].map(x, lists.range(2000).map(i, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('').replace('a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb').replace('b', 'cccccccccccccccccccccccccccc').replace('c', 'dddddddddddddddddd'))",
            "cost-limit"),
        Line("'%.1000f'.format([1e308]) == '' || lists.range(100000000).size() > 1", "memory-limit"),
    ])
    func `an evaluation ends at its limit of cost or memory`(_ line: Line) throws {
        var limits = Limits()
        limits.cost = 200_000
        limits.memory = 4 << 20
        let error = try failure(line.text, limits: limits)
        #expect(error.hasPrefix(line.expected) && !error.hasSuffix(" at ?"), "\(error)")
    }

    @Test(arguments: [
        "x.contains('zz')", "x == y", "x != 'aa'", "x < y", "x in [y]", "x in ['a', 'b']", "x.startsWith(y)", "x.matches('z')",
        "[x, y].sort() != []",
    ])
    func `reading a long text repeatedly counts as cost`(_ body: String) throws {
        let text = Value.string(String(repeating: "a", count: 1_000_000))
        try expectCostLimit(1_000_000, "lists.range(10000).all(i, \(body) || i >= 0)", ["x": text, "y": text])
    }

    @Test(arguments: ["regex.extractAll(x, 'a+b|a').size()", "regex.replace(x, 'a+b|a', 'c').size()"])
    func `matches that each read to the end of a long text count as cost`(_ expression: String) throws {
        try expectCostLimit(2_000_000, expression, ["x": .string(String(repeating: "a", count: 200_000))])
    }

    @Test func `many matches in a long text cost no more than one walk over the text`() throws {
        let text = String(repeating: "ab ", count: 50_000)
        #expect(try evaluated("regex.extractAll(x, '[a-z]+').size()", ["x": .string(text)]) == 50_000)
        #expect(try evaluated("regex.replace(x, '[a-z]+', 'c').size()", ["x": .string(text)]) == 100_000)
    }

    @Test(arguments: [
        "lists.range(1000).all(i, !string(i).matches('x{1,500}' + string(i)))",
        "lists.range(1000).all(i, string(i).matches('(' + string(i)) || i >= 0)",
        "lists.range(30000).all(i, int('x' + string(i)) > 0 || i >= 0)", "lists.range(30000).exists(i, int('x' + string(i)) > 0)",
        "lists.range(10000).all(i, isIP('2001:db8::' + string(i % 1000)) && isCIDR('2001:db8::/' + string(i % 100)))",
        "cel.bind(m, lists.range(100).transformMapEntry(i, v, {'key ' + string(v): v}), lists.range(60000).all(i, m['key 7'] == 7))",
    ])
    func `expensive functions count as cost`(_ expression: String) throws {
        try expectCostLimit(600_000, expression)
    }

    @Test func `different maps have different hashes, and equal maps equal ones, so that distinct() takes linear time`() {
        let maps = (0..<1000).map { Value.map(Value.Map([("a", .int($0)), ("b", 1)])) }
        #expect(Set(maps.map(\.hashValue)).count == maps.count)
        let turned = Value.map(Value.Map([("b", .double(1)), ("a", .int(7))]))
        #expect(turned == maps[7] && turned.hashValue == maps[7].hashValue)
        let nested = [maps[7], turned].map { Value.map(Value.Map([("in", $0)])) }
        #expect(nested[0].hashValue == nested[1].hashValue)
    }

    @Test func `each NaN is distinct, and no set contains a NaN`() throws {
        #expect(try evaluated("lists.range(3000).map(i, 0.0 / 0.0).distinct().size()") == 3000)
        let sets = "cel.bind(l, lists.range(3000).map(i, 0.0 / 0.0), sets.contains(l, l) || sets.intersects(l, l))"
        #expect(try evaluated(sets) == false)
    }

    @Test func `the evaluations of one run share its limit of cost`() throws {
        var environment = Environment()
        environment.declare("x", .int)
        let program = try environment.compile("lists.range(1000).all(i, i >= x)").program
        let activation = Activation(environment, resolver: Bindings(["x": 0]))
        activation.workLeft = 10_000
        var fine = 0
        var error: EvaluationError?
        while error == nil, fine < 100 {
            do throws(EvaluationError) {
                _ = try program.evaluate(activation)
                fine += 1
            } catch let failure {
                error = failure
            }
        }
        #expect(error?.code == .costLimit)
        #expect(fine > 0 && fine < 20, "\(fine)")
    }

    /// Linear time: a multiple of the time for searching a text in the same text in the same run.
    @Test(arguments: ["(a+)+$", "^(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){10}b$"])
    func `a pattern with exponential backtracking elsewhere takes linear time`(_ pattern: String) throws {
        let (short, long) = (String(repeating: "a", count: 100_000) + "!", String(repeating: "a", count: 1_000_000) + "!")
        func time(_ expression: String, _ text: String) throws -> Duration {
            try ThreadTime.shortest {
                let found = try evaluated(expression, ["x": .string(text)])
                #expect(found == false)
            }
        }
        let looking = try time("x.contains('ab')", long)
        let (tenth, whole) = (try time("x.matches('\(pattern)')", short), try time("x.matches('\(pattern)')", long))
        // Quadratic time would be 100 times as long; the floor allows for noise on a busy machine.
        #expect(whole < max(tenth * 40, .milliseconds(200)), "\(tenth) for a tenth, \(whole) for all")
        #expect(whole < max(looking * 500, .milliseconds(500)), "\(looking) for contains(), \(whole)")
    }

    @Test func `patterns and times have limits`() throws {
        #expect(
            try failure("'a'.matches(x)", ["x": .string(String(repeating: "a", count: 5000))]).hasPrefix(
                "invalid-pattern: invalid regular expression: it is longer than 4096 bytes"))
        #expect(try failure("'a'.matches(x)", ["x": "(a{500}){500}"]).hasPrefix("invalid-pattern"))
        #expect(try failure("duration('9223372036854775807h')").hasPrefix("invalid-argument"))
        #expect(try failure("timestamp(9223372036854775807)").hasPrefix("overflow"))
    }
}

/// Values with a short text that are large to traverse.
struct ShapeTests {
    /// `cel.bind(a, VALUE of the last a, …)` repeated this many times.
    private func nested(_ value: String, times: Int, _ body: String) -> String {
        "cel.bind(a, x, " + String(repeating: "cel.bind(a, \(value), ", count: times) + body
            + String(repeating: ")", count: times + 1)
    }

    @Test(arguments: ["[a]", "{'a': a}", "optional.of(a)", "[[[[[[[[[[[[[[[[[[[[a]]]]]]]]]]]]]]]]]]]]", "[0].map(y, a)"])
    func `a value nested too deep is refused`(_ value: String) throws {
        #expect(
            try failure(nested(value, times: 120, "a == a"), ["x": 1]).hasPrefix(
                "memory-limit: the evaluation was stopped: it makes a value nested more than 100 deep"))
        #expect(try failure(nested("dyn(\(value))", times: 120, "a == a"), ["x": 1], checked: true).hasPrefix("memory-limit"))
    }

    @Test func `a type nested too deep is refused`() {
        #expect(
            problems(nested("[a]", times: 120, "a == a").replacing("x", with: "1"), in: Environment()).hasPrefix(
                "expression-too-deep: the value here is nested more than 100 deep"))
    }

    @Test(arguments: ["a == a", "a in [a]", "sets.contains(a, a)", "'%s'.format([a])", "[a].distinct()"])
    func `a value with shared parts costs as much as traversing it`(_ body: String) throws {
        let error = try failure(nested("[a, a]", times: 90, body), ["x": 1])
        #expect(error.hasPrefix("memory-limit"), "\(error)")
        try expectCostLimit(100_000, nested("[a, a]", times: 10, "lists.range(1000).all(i, \(body) != 7)"), ["x": 1])
    }

    @Test(arguments: [
        String(repeating: "(", count: 240) + "1" + String(repeating: ")", count: 240),
        String(repeating: "!", count: 240) + "true", "1" + String(repeating: " + 1", count: 240),
        String(repeating: "true ? 1 : ", count: 120) + "1", "[1]" + String(repeating: ".map(x, x)", count: 120),
        String(repeating: "cel.bind(x, 1, ", count: 120) + "1" + String(repeating: ")", count: 120),
    ])
    func `an expression at the limit of nesting is evaluated`(_ text: String) throws { _ = try evaluated(text) }
}
