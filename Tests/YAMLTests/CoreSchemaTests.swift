import Testing
import YAML

@Suite struct CoreSchemaTests {
    @Test(arguments: ["on", "off", "yes", "no", "Yes", "y", "n", "tRUE", "nULL", "nil", "none"])
    func `the boolean words of YAML 1.1 are texts`(_ word: String) throws {
        #expect(try root("- \(word)").items?.first?.scalar?.value == .string(word))
    }

    @Test(arguments: [
        ("~", Value.null), ("null", .null), ("Null", .null), ("NULL", .null), ("true", .bool(true)), ("True", .bool(true)),
        ("TRUE", .bool(true)), ("false", .bool(false)), ("False", .bool(false)), ("FALSE", .bool(false)), ("0", .int(0)),
        ("-0", .int(0)), ("+7", .int(7)), ("0123", .int(123)), ("0o17", .int(15)), ("0x1F", .int(31)), ("0xff", .int(255)),
        ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)), ("1.", .float(1)), (".5", .float(0.5)),
        ("-.5", .float(-0.5)), ("1e3", .float(1000)), ("+1.5E-2", .float(0.015)), ("1.e1", .float(10)),
        (".inf", .float(.infinity)),
        ("-.INF", .float(-.infinity)), ("+.Inf", .float(.infinity)), ("9223372036854775808", .float(9_223_372_036_854_775_808)),
        ("0xFFFFFFFFFFFFFFFFF", .float(295_147_905_179_352_825_856)), ("1e999", .float(.infinity)),
    ])
    func `plain scalars have the types of the core schema`(_ text: String, _ value: Value) throws {
        let node = try #require(try root("- \(text)").items?.first)
        #expect(node.scalar?.value == value)
        #expect(node.scalarText == text)
    }

    @Test(arguments: [
        "0o8", "0o", "0x", "0xG", "-0o7", "+0x1", "0b11", "1_000", "1:30", "12:30:45", "2026-01-05", "1e", "e1", ".", "+", "..5",
        "1.2.3", "0x1.8p1", "inf", "nan", ".Nan", "--1", "1 000", "+", "=", "0o17x",
    ])
    func `a value that only looks like a number is a text`(_ text: String) throws {
        #expect(try root("- \(text)").items?.first?.scalar?.value == .string(text))
    }

    @Test func `.nan is a number`() throws {
        for text in [".nan", ".NaN", ".NAN"] {
            guard case .float(let number) = try root("- \(text)").items?.first?.scalar?.value else {
                Issue.record("\(text) is not a number type")
                continue
            }
            #expect(number.isNaN)
        }
    }

    @Test(arguments: ["'12'", "\"12\"", "|-\n  12", ">-\n  12"])
    func `quoted and block scalars are texts`(_ text: String) throws {
        #expect(try root("a: \(text)\n")["a"]?.scalar?.value == .string("12"))
    }

    @Test(arguments: [
        ("!!str 0123", Value.string("0123")), ("!!str", .string("")), ("!!int \"12\"", .int(12)), ("!!float 1", .float(1)),
        ("!!bool 'true'", .bool(true)), ("!!null ''", .null), ("!<tag:yaml.org,2002:str> 1", .string("1")),
    ])
    func `a tag of the core schema sets the type`(_ text: String, _ value: Value) throws {
        #expect(try root("a: \(text)\n")["a"]?.scalar?.value == value)
    }

    @Test(arguments: [
        ("a: !!int x", "1:10"), ("a: !!bool yes", "1:11"), ("a: !!float a", "1:12"), ("a: !!null x", "1:11"),
        ("a: !!map [x]", "1:10"),
        ("a: !!seq {x: y}", "1:10"), ("a: !!str [x]", "1:10"), ("a: !!map x", "1:10"), ("a: !!int 9223372036854775808", "1:10"),
    ])
    func `a tag that does not match its value is refused`(_ text: String, _ place: String) {
        #expect(places(text) == ["\(place) tag-mismatch"])
    }

    @Test(arguments: ["!!binary x", "!!set {a: b}", "!!timestamp 2026-01-05", "!!omap []"])
    func `tags outside the core schema are refused`(_ text: String) {
        #expect(places("a: \(text)") == ["1:4 unknown-tag"])
    }
}
