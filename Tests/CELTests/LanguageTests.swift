import CEL
import Testing

/// The language itself: literals, operators, macros, conversions.
struct LanguageTests {
    @Test(arguments: [
        Line("1", "1"), Line("-9223372036854775808", "-9223372036854775808"), Line("0xFF", "255"), Line("-0x10", "-16"),
        Line("7u", "7u"),
        Line("0xFFu", "255u"), Line("1.5", "1.5"), Line(".5", "0.5"), Line("1e3", "1000.0"), Line("-2.5E-3", "-0.0025"),
        Line("true", "true"), Line("null", "null"), Line("'a'", #""a""#), Line(#""it's""#, #""it's""#),
        Line(#"'''a'b''c'''"#, #""a'b''c""#),
        Line("\"\"\"two\nlines\"\"\"", #""two\nlines""#), Line(#"r'\n'"#, #""\\n""#), Line(#"R"\d+""#, #""\\d+""#),
        Line(#"'\a\b\f\n\r\t\v\\\'\"\`\?'"#, #""\u0007\u0008\u000c\n\r\t\u000b\\'\"`?""#),
        Line(#"'\x41\101é\U0001F600'"#, #""AAé😀""#),
        Line(#"b'\xff\377ÿ'"#, #"b"\xff\xff\xc3\xbf""#), Line(#"rb'\x'"#, #"b"\\x""#), Line(#"br"a""#, #"b"a""#),
        Line("[1, 2,]", "[1, 2]"),
        Line("{'a': 1, 2: 'b', true: null, 3u: 0.5,}", #"{"a": 1, 2: "b", true: null, 3u: 0.5}"#), Line("// a comment\n1", "1"),
    ])
    func `literals have their values`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("1 + 2 * 3 - 4 / 2 % 3", "5"), Line("-(3) + -2", "-5"), Line("7u + 1u", "8u"), Line("1.5 * 2.0", "3.0"),
        Line("-7 / 2", "-3"),
        Line("-7 % 2", "-1"), Line("'a' + 'b'", #""ab""#), Line("b'a' + b'b'", #"b"ab""#), Line("[1] + [2]", "[1, 2]"),
        Line("1.0 / 0.0", "Infinity"), Line("!true", "false"), Line("!!true", "true"), Line("--5", "5"),
        Line("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3", "true"),
        Line("'a' < 'b' && 'Z' < 'a' && 'é' > 'z'", "true"), Line("b'a' < b'aa'", "true"), Line("false < true", "true"),
        Line("1 < 1.5 && 2u > 1", "true"),
        Line("1 == 1 && 'a' != 'b' && null == null", "true"), Line("dyn(1) == 1u && dyn(1) == 1.0 && dyn(2u) == 2.0", "true"),
        Line("dyn(1) == 'a'", "false"), Line("[1, 2] == [1, 2] && [1] != [1, 1]", "true"),
        Line("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"),
        Line("double('NaN') == double('NaN')", "false"), Line("1 in [1, 2] && !(3 in [1, 2])", "true"),
        Line("'a' in {'a': 1}", "true"),
        Line("dyn(1.0) in [1, 2]", "true"), Line("true ? 1 : 2", "1"), Line("false ? 1 : true ? 2 : 3", "2"),
        Line("[1, 2, 3][1]", "2"),
        Line("{'a': {'b': 7}}.a.b", "7"), Line("{1: 'x'}[dyn(1u)]", #""x""#), Line("{'a b': 1}.`a b`", "1"),
        Line("'e\\u0301' == 'é'", "false"),
        Line("size('é😀') == 2 && size(b'é') == 2 && size([1]) == 1 && size({}) == 0 && 'ab'.size() == 2", "true"),
    ])
    func `operators have the results of the specification`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("true || 1 / 0 == 0", "true"), Line("1 / 0 == 0 || true", "true"), Line("false && 1 / 0 == 0", "false"),
        Line("1 / 0 == 0 && false", "false"),
        Line("1 / 0 == 0 || 2 / 0 == 0 || true || 3 / 0 == 0", "true"), Line("[1, 0].exists(x, 1 / x == 1)", "true"),
        Line("[0, 1].exists(x, 1 / x == 1)", "true"), Line("[0, 2].all(x, 4 / x == 1)", "false"),
    ])
    func `an error on one side is ignored if the other side decides`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("has({'a': 1}.a)", "true"), Line("has({'a': null}.a)", "true"), Line("has({}.a)", "false"),
        Line("[1, 2].all(x, x > 0)", "true"),
        Line("[].all(x, false)", "true"), Line("[1, 2].exists(x, x == 2)", "true"), Line("[].exists(x, true)", "false"),
        Line("[1, 2, 3].exists_one(x, x > 2)", "true"),
        Line("[1, 1].existsOne(x, x == 1)", "false"), Line("[1, 2].map(x, x * 10)", "[10, 20]"),
        Line("[1, 2, 3].map(x, x > 1, x * 10)", "[20, 30]"),
        Line("[1, 2, 3].filter(x, x % 2 == 1)", "[1, 3]"), Line("{'a': 1}.map(k, k)", #"["a"]"#),
        Line("{'a': 1, 'b': 2}.filter(k, k > 'a')", #"["b"]"#),
        Line("{'a': 1}.exists(k, k == 'a')", "true"), Line("[[1, 2], [3]].map(x, x.map(y, y + size(x)))", "[[3, 4], [4]]"),
        Line("[1, 2].all(i, v, v == i + 1)", "true"), Line("[5].exists(i, v, i == 0 && v == 5)", "true"),
        Line("{'a': 1}.existsOne(k, v, v == 1)", "true"),
        Line("[4, 5].transformList(i, v, v * i)", "[0, 5]"), Line("[4, 5].transformList(i, v, i > 0, v)", "[5]"),
        Line("{'a': 1}.transformMap(k, v, k + string(v))", #"{"a": "a1"}"#),
        Line("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", #"{"b": 2}"#),
        Line("{'a': 'x', 'b': 'y'}.transformMapEntry(k, v, {v: k})", #"{"x": "a", "y": "b"}"#),
        Line("['a'].transformMapEntry(i, v, {v: i})", #"{"a": 0}"#),
        Line("cel.bind(x, 'a' + 'b', x + x)", #""abab""#),
        Line("cel.block([1 + 1, cel.index(0) * 2], cel.index(1) + cel.index(0))", "6"),
        Line(
            "cel.block([[3, 4].map(x, x + 1), [7, 8].map(x, x)], [cel.index(1), cel.index(0), cel.index(1)])",
            "[[7, 8], [4, 5], [7, 8]]"),
        Line("cel.block([[3, 4].map(cel.iterVar(0, 0), cel.iterVar(0, 0) + 1)], cel.index(0))", "[4, 5]"),
        Line("[1, 2].map(cel.iterVar(0, 0), [10].map(cel.iterVar(1, 0), cel.iterVar(0, 0) + cel.iterVar(1, 0)))", "[[11], [12]]"),
        Line("[2, 3].transformList(cel.iterVar(0, 0), cel.accuVar(0, 0), cel.iterVar(0, 0) * cel.accuVar(0, 0))", "[0, 3]"),
    ])
    func `macros have the results of the specification`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("int('42') + int(7u) + int(2.9) + int(timestamp(10))", "61"), Line("int(duration('1us'))", "1000"),
        Line("uint('7') + uint(7) + uint(7.9)", "21u"),
        Line("double('1.5') + double(1) + double(2u)", "4.5"), Line("double('-inf')", "-Infinity"),
        Line("string(1) + string(2u) + string(2.5) + string(true)", #""122.5true""#),
        Line("string(b'abc') + string(timestamp(0)) + string(duration('90m'))", #""abc1970-01-01T00:00:00Z5400s""#),
        Line("string(1e21) + string(0.1) + string(1e-7) + string(100.0)", #""1e+210.11e-07100""#),
        Line("bool('true') && bool('1') && bool('T' == 'T') && !bool('False')", "true"), Line("bytes('é')", #"b"\xc3\xa9""#),
        Line("type(1) == int && type(type(1)) == type", "true"),
        Line("type(null) == null_type && type([]) == list && type({}) == map && type(1u) == uint", "true"),
        Line("type(timestamp(0)) == google.protobuf.Timestamp", "true"),
        Line("type(dyn('a'))", "string"), Line("dyn(1)", "1"),
        Line("duration('1h30m') == duration('90m') && duration('-1.5s') == duration('-1500ms')", "true"),
        Line("duration(5) == duration('5ns')", "true"),
        Line("duration('0.29h') == duration('1044s') && duration('0.57m') == duration('34200ms')", "true"),
        Line("timestamp('2026-01-05T09:00:00.25+01:00')", #"timestamp("2026-01-05T08:00:00.25Z")"#),
        Line("timestamp(1) == timestamp('1970-01-01T00:00:01Z')", "true"),
    ])
    func `conversions have the results of the specification`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("timestamp('2026-01-05T09:00:00Z') + duration('1h')", #"timestamp("2026-01-05T10:00:00Z")"#),
        Line("duration('1h') + timestamp(0)", #"timestamp("1970-01-01T01:00:00Z")"#),
        Line("timestamp(10) - timestamp(4)", #"duration("6s")"#),
        Line("timestamp(10) - duration('4s')", #"timestamp("1970-01-01T00:00:06Z")"#),
        Line("duration('1m') - duration('1s')", #"duration("59s")"#),
        Line(
            "[timestamp(0).getFullYear(), timestamp(0).getMonth(), timestamp(0).getDate(), timestamp(0).getDayOfMonth()]",
            "[1970, 0, 1, 0]"),
        Line(
            "[timestamp(0).getDayOfWeek(), timestamp(0).getDayOfYear(), timestamp('2024-12-31T00:00:00Z').getDayOfYear()]",
            "[4, 0, 365]"),
        Line("timestamp('2026-03-29T00:59:59.5Z').getHours('Europe/Berlin')", "1"),
        Line("timestamp('2026-03-29T01:00:00Z').getHours('Europe/Berlin')", "3"),
        Line("timestamp('2026-10-25T00:59:59Z').getHours('Europe/Berlin')", "2"),
        Line("timestamp('2026-10-25T01:00:00Z').getHours('Europe/Berlin')", "2"),
        Line("timestamp('2300-07-01T12:00:00Z').getHours('Europe/Berlin')", "14"),
        Line("timestamp('2300-01-01T12:00:00Z').getHours('Australia/Sydney')", "23"),
        Line("timestamp('1880-01-01T12:00:00Z').getMinutes('Europe/Berlin')", "53"),
        Line("timestamp(0).getHours('+05:30') * 100 + timestamp(0).getMinutes('-05:30')", "530"),
        Line(
            "[timestamp('1970-01-01T00:00:01.234Z').getMilliseconds(), timestamp(61).getSeconds(), timestamp(61).getMinutes()]",
            "[234, 1, 1]"),
        Line(
            "[duration('90m').getHours(), duration('90m').getMinutes(), duration('90m').getSeconds(), duration('1.234s').getMilliseconds()]",
            "[1, 90, 5400, 234]"),
    ])
    func `operations on timestamps and durations have the results of the specification`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }
}
