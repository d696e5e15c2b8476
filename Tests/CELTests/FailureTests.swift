import CEL
import Testing

/// All failures of evaluation, each with its message and place.
struct FailureTests {
    @Test(arguments: [
        Line("1 / 0", "division-by-zero: division by zero at 1 / 0"),
        Line("1u % 0u", "division-by-zero: modulus by zero at 1u % 0u"),
        Line("9223372036854775807 + 1", "overflow: overflow: the result does not fit its type at 9223372036854775807 + 1"),
        Line("-(-9223372036854775808)", "overflow: overflow: the result does not fit its type at -(-9223372036854775808)"),
        Line("-9223372036854775808 / -1", "overflow: overflow: the result does not fit its type at -9223372036854775808 / -1"),
        Line("0u - 1u", "overflow: overflow: the result does not fit its type at 0u - 1u"),
        Line(
            "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
            "overflow: range error: the time is outside the years 1 to 9999 at timestamp('9999-12-31T23:59:59Z') + duration('1s')"
        ),
        Line(
            "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
            "overflow: range error: the duration is longer than 292 years at timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')"
        ),
        Line("int(1e99)", "overflow: range error: 1e+99 does not fit int at int"),
        Line("uint(-1)", "overflow: range error: -1 does not fit uint at uint"),
        Line("int('x')", #"invalid-argument: "x" cannot be converted to int at int"#),
        Line("bool('maybe')", #"invalid-argument: "maybe" cannot be converted to bool at bool"#),
        Line("string(b'\\xff')", "invalid-argument: invalid UTF-8 in bytes, which cannot become a string at string"),
        Line("timestamp('yesterday')", #"invalid-argument: "yesterday" cannot be converted to timestamp at timestamp"#),
        Line("duration('1')", #"invalid-argument: "1" cannot be converted to duration at duration"#),
        Line("timestamp(0).getHours('Mars/Olympus')", #"invalid-argument: unknown time zone "Mars/Olympus" at getHours"#),
        Line("timestamp(0).getHours('../etc')", #"invalid-argument: unknown time zone "../etc" at getHours"#),
        Line("{'a': 1}.b", #"no-such-key: no such key: "b" at b"#),
        Line("{'a': 1}['b']", #"no-such-key: no such key: "b" at 'b'"#),
        Line("[1][1]", "index-out-of-range: index out of range: 1 at 1"),
        Line("[1][-1]", "index-out-of-range: index out of range: -1 at -1"),
        Line("[1]['a']", #"invalid-argument: invalid argument: "a" is not an index of a list at 'a'"#),
        Line("{1.5: 1}", "bad-key: double cannot be the key of a map at 1.5"),
        Line("{1: 1, 1u: 2}", "duplicate-key: the key 1u occurs twice at 1u"),
        Line("x", "unknown-name: `x` has no value here at x"),
        Line("1 + 'a'", "no-such-overload: no such overload: + on (int, string) at 1 + 'a'"),
        Line("[1].x", "no-such-overload: no such overload: field `x` of list(dyn) at x"),
        Line("1 ? 2 : 3", "no-such-overload: no such overload: a condition on (int) at 1"),
        Line("1 < 'a'", "no-such-overload: no such overload: < on (int, string) at 1 < 'a'"),
        Line("1 in 2", "no-such-overload: no such overload: in on (int, int) at 1 in 2"),
        Line("size(1)", "no-such-overload: no such overload: size on (int) at size"),
        Line("'a'.nothing()", "no-such-overload: no such overload: nothing on (string) at nothing"),
        Line("1.map(x, x)", "no-such-overload: no such overload: map on (int) at 1"),
        Line("'a'.matches('(')", "invalid-pattern: invalid regular expression: missing ): ( at matches"),
        Line("optional.none().value()", "empty-optional: optional.none() has no value at value"),
        Line("'a'.charAt(9)", "index-out-of-range: index out of range: 9 at charAt"),
        Line("'abc'.substring(2, 1)", "invalid-argument: invalid range: start 2, end 1 at substring"),
        Line("[1].slice(0, 9)", "index-out-of-range: index out of range: 9 at slice"),
        Line("[1].flatten(-1)", "invalid-argument: flatten(): the depth is negative at flatten"),
        Line("[1, 'a'].sort()", "no-such-overload: no such overload: sort on (int, string) at sort"),
        Line("[[1]].sort()", "no-such-overload: no such overload: sort on (list(dyn)) at sort"),
        Line("math.greatest([])", "invalid-argument: math.greatest() of an empty list at greatest"),
        Line("math.bitShiftLeft(1, -1)", "invalid-argument: math.bitShiftLeft(): negative offset at bitShiftLeft"),
        Line("math.abs(-9223372036854775808)", "overflow: overflow: the result does not fit its type at abs"),
        Line("base64.decode('?')", "invalid-argument: the text is not base 64 at decode"),
        Line(
            "'%a'.format([1])",
            #"invalid-argument: could not parse formatting clause: unrecognized formatting clause "a" at format"#),
        Line("'%'.format([1])", "invalid-argument: could not parse formatting clause: the text ends after `%` at format"),
        Line(
            "'%.9999f'.format([1.0])",
            "invalid-argument: could not parse formatting clause: a precision is a number from 0 to 1000 and a letter, as in `%.2f` at format"
        ), Line("'%s'.format([])", "invalid-argument: format(): there is no argument for place 0 at format"),
        Line(
            "'%d'.format(['a'])",
            "invalid-argument: error during formatting: decimal clause can only be used on integers, was given string at format"),
        Line(
            "'%f'.format(['a'])",
            "invalid-argument: error during formatting: fixed-point clause can only be used on doubles, was given string at format"
        ),
        Line(
            "'%e'.format([true])",
            "invalid-argument: error during formatting: scientific clause can only be used on doubles, was given bool at format"),
        Line(
            "'%b'.format(['a'])",
            "invalid-argument: error during formatting: only integers and bools can be formatted as binary, was given string at format"
        ),
        Line(
            "'%o'.format([1.5])",
            "invalid-argument: error during formatting: octal clause can only be used on integers, was given double at format"),
        Line(
            "'%x'.format([[1]])",
            "invalid-argument: error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given list at format"
        ),
        Line(
            "'%X'.format([null])",
            "invalid-argument: error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given null_type at format"
        ),
        Line(
            "'%s'.format([optional.none()])",
            "invalid-argument: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type at format"
        ),
        Line(
            "'%s'.format([" + String(repeating: "[", count: 70) + String(repeating: "]", count: 70) + "])",
            "invalid-argument: error during formatting: the value is nested too deep at format"),
        Line(
            #"regex.replace('a', 'a', '\\9')"#,
            #"invalid-argument: "\\9" is not a replacement: a backslash must be followed by a backslash or a group number at replace"#
        ),
        Line(
            "regex.extract('a', '(a)(b)')",
            "invalid-argument: the pattern has several groups in parentheses; make all but one of them (?:…) at extract"),
        Line("ip('1.2.3')", "invalid-argument: IP Address '1.2.3' parse error during conversion from string at ip"),
        Line("ip('fe80::1%en0')", "invalid-argument: IP Address with zone value is not allowed at ip"),
        Line("cidr('1.2.3.4')", "invalid-argument: CIDR '1.2.3.4' parse error during conversion from string at cidr"),
        Line("ip('::ffff:1.2.3.4')", "invalid-argument: IPv4-mapped IPv6 address is not allowed at ip"),
        Line("timestamp(0).format('qq')", "invalid-argument: `qq` is not part of a time pattern at format"),
        Line("timestamp(0).format(\"'\")", "invalid-argument: the pattern has a quote that is not closed at format"),
        Line("['a', 'a'].transformMapEntry(i, v, {v: i})", #"duplicate-key: the key "a" occurs twice at {v: i}"#),
    ])
    func `a failed evaluation has a code, a message and a place`(_ line: Line) throws {
        #expect(try failure(line.text) == line.expected)
    }

    @Test(arguments: [
        "x + 1", "1 < x", "x >= 'a'", "x.field", "x[0]", "[1][x]", "[1][?x]", "{1: 1}[x]", "!x", "-x", "x && true", "x || false",
        "x ? 1 : 2", "1 in x", "size(x)", "x.contains('a')", "x.startsWith('a')", "'a'.contains(x)", "x.matches('a')",
        "x.map(y, y)", "x.all(y, true)", "timestamp(x)", "string(x)", "has(x.y)", "x.optMap(y, y)", "['a', x].join()",
        "math.abs(x)", "math.greatest(x, 1)", "x.getHours()", "timestamp(0) - x", "x.y.z == 1", "[x].all(y, y > 1)",
    ])
    func `an operation on null fails with a null operand`(_ text: String) throws {
        let error = try failure(text, ["x": .null])
        #expect(error.hasPrefix("null-operand: "), "\(error)")
    }

    @Test(arguments: [
        "x == null", "x != 1", "null in [x]", "type(x) == null_type", "x == x", "[x] == [null]", "has({'a': x}.a)",
        "x == null || x > 1", "!(x != null && x > 1)",
    ])
    func `equality with null is not an error`(_ text: String) throws {
        #expect(try evaluated(text, ["x": .null]) == true)
    }

    @Test(arguments: [
        ("x > 1", "1 / 0 == 1"), ("x > 1 && true", "{'a': 1}['b'] == 2"), ("[1, x].exists(y, y > 5)", "1 % 0 == 0"),
    ])
    func `an unknown beside an error is an error, in either order`(_ unknown: String, _ error: String) throws {
        for symbol in ["||", "&&"] {
            let neutral = symbol == "||" ? "false" : "true"
            for terms in [[unknown, error], [error, unknown], [unknown, neutral, error], [error, neutral, unknown]] {
                let text = terms.joined(separator: " \(symbol) ")
                let failed = try failure(text, ["x": .null])
                #expect(!failed.hasPrefix("null-operand") && !failed.hasPrefix("gave "), "\(text): \(failed)")
            }
        }
    }

    @Test func `an error in one element of a list outweighs an unknown in another`() throws {
        for list in ["[x, 0]", "[0, x]"] {
            #expect(try failure("\(list).all(y, 1 / y > 0)", ["x": .null]).hasPrefix("division-by-zero"))
        }
    }

    @Test func `a condition on null is unknown, and a condition on an error has failed`() throws {
        func verdict(_ text: String, _ variables: [String: Value]) throws -> String {
            let program = try Sample.environment.compile(text, expecting: .bool).program
            switch program.verdict(Activation(Sample.environment, resolver: Bindings(variables))) {
            case .yes: return "yes"
            case .no: return "no"
            case .unknown(let error): return "unknown: \(error.code.rawValue)"
            case .failed(let error): return "failed: \(error.code.rawValue)"
            }
        }
        let condition = "task.priority <= 2 && task.title == 'a'"
        #expect(try verdict(condition, ["task": .map(["priority": .null, "title": "a"])]) == "unknown: null-operand")
        #expect(try verdict(condition, ["task": .map(["priority": .null, "title": "b"])]) == "no")
        #expect(try verdict("anything.x == 1", ["anything": .map([:])]) == "failed: no-such-key")
    }
}
