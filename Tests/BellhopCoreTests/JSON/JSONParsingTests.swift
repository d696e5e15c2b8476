import BellhopCore
import Testing

struct JSONParsingTests {
    private static let readable: [(String, JSON)] = [
        ("null", JSON.null), (" true ", true), ("false", false), ("0", 0), ("-0", 0), ("-12", -12),
        ("9223372036854775807", .int(.max)),
        ("-9223372036854775808", .int(.min)), ("9223372036854775808", 9223372036854775808.0), ("1.5", 1.5), ("1e3", 1000.0),
        ("-2.5E-1", -0.25), ("1e-999", 0.0), ("1e999", "1e999"), ("-1E+400", "-1E+400"),
        ("123456789012345678901234567890", 123456789012345678901234567890.0), ("\"\"", ""),
        (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u00e9\ud83d\ude00""#, "é😀"), ("\"é😀\"", "é😀"), ("[]", []), ("{}", [:]), ("[1,[2,{}]]", [1, [2, [:]]]),
        (#"{"a":{"b":[null]}, "c" : "d"}"#, ["a": ["b": [.null]], "c": "d"]), (#"{"\u0061":1}"#, ["a": 1]),
    ]

    @Test(arguments: readable) func `every kind of value is read`(_ text: String, _ value: JSON) throws {
        #expect(try JSON.parse(text) == value)
    }

    private static let refused: [(String, JSONError)] = [
        ("", JSONError(.ended, at: 0)), ("  ", JSONError(.ended, at: 2)), ("nul", JSONError(.ended, at: 3)),
        ("nulL", JSONError(.unexpected(UInt8(ascii: "L")), at: 3)), ("1 2", JSONError(.trailing, at: 2)),
        ("01", JSONError(.number, at: 0)), ("-", JSONError(.ended, at: 1)), ("-a", JSONError(.number, at: 1)),
        ("1.", JSONError(.ended, at: 2)), ("1.e", JSONError(.number, at: 2)), ("1e+", JSONError(.ended, at: 3)),
        ("+1", JSONError(.unexpected(UInt8(ascii: "+")), at: 0)), (".5", JSONError(.unexpected(UInt8(ascii: ".")), at: 0)),
        ("[1,]", JSONError(.unexpected(UInt8(ascii: "]")), at: 3)),
        ("[1 2]", JSONError(.unexpected(UInt8(ascii: "2")), at: 3)), ("[1}", JSONError(.unexpected(UInt8(ascii: "}")), at: 2)),
        ("{1:2}", JSONError(.unexpected(UInt8(ascii: "1")), at: 1)),
        (#"{"a" 1}"#, JSONError(.unexpected(UInt8(ascii: "1")), at: 5)),
        (#"{"a":1,}"#, JSONError(.unexpected(UInt8(ascii: "}")), at: 7)), ("\"\n\"", JSONError(.controlCharacter(10), at: 1)),
        (#""\x""#, JSONError(.escape, at: 1)), (#""\u12G4""#, JSONError(.escape, at: 1)),
        ("NaN", JSONError(.unexpected(78), at: 0)),
        ("// no", JSONError(.unexpected(UInt8(ascii: "/")), at: 0)), ("'a'", JSONError(.unexpected(39), at: 0)),
    ]

    @Test(arguments: refused) func `invalid JSON is refused with the place of the error`(_ text: String, _ error: JSONError) {
        #expect(throws: error) { try JSON.parse(text) }
    }

    @Test(
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0xe2, 0x28, 0xa1, 0x22], [0x22, 0x80, 0x22],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused`(_ bytes: [UInt8]) {
        #expect(throws: JSONError(.notUTF8, at: 1)) { try JSON.parse(bytes) }
    }

    @Test(arguments: [#""\ud83d""#, #""\ude00""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\ud83d\ude00""#])
    func `half a surrogate pair becomes the replacement character`(_ text: String) throws {
        #expect(try JSON.parse(text).asString?.unicodeScalars.first == "\u{fffd}")
    }

    @Test func `the last of two members with one name wins, at the first one's position`() throws {
        let value = try JSON.parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(value.text == #"{"a":3,"b":2}"#)
    }

    @Test func `nesting is limited and does not use the stack`() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSON.parse(deep).text == deep)
        let endless = String(repeating: "[{\"a\":", count: 1_000_000)
        #expect(throws: JSONError(.tooDeep(512), at: 1536)) { try JSON.parse(endless) }
    }

    @Test func `a long number is read by its value, and keeps its digits where no double is exact`() throws {
        let zeros = String(repeating: "0", count: 400)
        #expect(try JSON.parse("[1\(zeros),2]") == [.string("1" + zeros), 2])
        #expect(try JSON.parse("0.\(zeros)1") == 0.0)
        #expect(try JSON.parse("1.\(zeros)e5") == 100_000.0)
    }

    @Test func `a byte order mark is skipped at the start and refused elsewhere`() throws {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        #expect(try JSON.parse(mark + Array("{\"a\":1}".utf8)) == ["a": 1])
        #expect(throws: JSONError(.ended, at: 3)) { try JSON.parse(mark) }
        #expect(throws: JSONError(.unexpected(0xef), at: 0)) { try JSON.parse(Array(mark.prefix(2))) }
        #expect(throws: JSONError(.unexpected(0xef), at: 3)) { try JSON.parse(mark + mark + [0x31]) }
        #expect(throws: JSONError(.unexpected(0xef), at: 1)) { try JSON.parse([0x20] + mark + [0x31]) }
    }

    @Test func `every truncation of a JSON text is refused`() throws {
        let whole = Array(#"{"ab":[1.5e2,true,null,"é\ud83d\ude00\n",{"c":-7}],"d":"x"}"#.utf8)
        _ = try JSON.parse(whole)
        for length in 0..<whole.count {
            #expect(throws: JSONError(.ended, at: length)) { try JSON.parse(Array(whole[..<length])) }
        }
    }

    @Test func `an error names its byte and its reason`() {
        #expect(throws: JSONError(.unexpected(UInt8(ascii: "x")), at: 8)) { try JSON.parse(#"{"a":[1,x]}"#) }
        #expect(JSONError(.ended, at: 5).description == "invalid JSON at byte 5: it ends in the middle of a value")
    }
}
