import BellhopCore
import Testing

struct JSONValueTests {
    @Test func `objects keep their order, which does not matter for equality`() {
        let one: JSON = ["a": 1, "b": [2, .null]]
        let other: JSON = ["b": [2, .null], "a": 1]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one.text != other.text)
        #expect(one.text(.sorted) == other.text(.sorted))
        #expect(one != ["a": 1, "b": [2]])
        #expect(one != ["a": 1])
    }

    @Test(arguments: [3, 16, 17, 40]) func `members can be set, replaced and removed in objects of any size`(_ count: Int) {
        var object = JSON.Object()
        for number in 0..<count { object["key \(number)"] = .int(Int64(number)) }
        object["key 1"] = "new"
        object["key 0"] = nil
        object["absent"] = nil
        #expect(object.count == count - 1)
        #expect(object.keys.first == "key 1")
        #expect(object["key 1"] == "new")
        #expect(object["key 0"] == nil)
        #expect(object["key \(count - 1)"] == .int(Int64(count - 1)))
        #expect(JSON.Object(object.map { ($0.key, $0.value) }) == object)
    }

    @Test func `an object with many repeated names keeps the last value of each`() throws {
        let text = "{" + (0..<50_000).map { "\"k\($0 % 25_000)\":\($0)" }.joined(separator: ",") + "}"
        let object = try #require(JSON.parse(text).asObject)
        #expect(object.count == 25_000)
        #expect(object["k7"] == 25_007)
    }

    @Test func `nested values are read and changed by subscripts`() {
        var value: JSON = ["result": ["items": [["id": "a"], ["id": "b"]]]]
        #expect(value["result"]?["items"]?[1]?["id"] == "b")
        #expect(value.at("result", "items")?[2] == nil)
        #expect(value.at("result", "none", "id") == nil)
        value["result"]?["count"] = 2
        value["new"] = true
        #expect(value.at("result", "count") == 2)
        #expect(value["new"] == true)
    }

    @Test(arguments: ["", "a", "a.b", "a[0]", "a[0].b[12][3].c", "[1].x"]) func `a path is written as it was read`(_ text: String)
        throws
    {
        let path = try #require(JSON.Path(text: text))
        #expect(path.description == text)
    }

    @Test(arguments: ["a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "a[1", "a[1]b", "."]) func `an invalid path is refused`(
        _ text: String
    ) {
        #expect(JSON.Path(text: text) == nil)
    }

    @Test func `a path finds its value`() throws {
        let value: JSON = ["a": [1, ["b": "here"]]]
        #expect(value[try #require(JSON.Path(text: "a[1].b"))] == "here")
        #expect(value[try #require(JSON.Path(text: "a[2].b"))] == nil)
        #expect(value[JSON.Path()] == value)
    }

    private static let written: [(JSON, String)] = [
        (JSON.double(1), "1.0"), (.double(.infinity), "null"), (.double(.nan), "null"), (.double(1e300), "1e+300"),
        ("\u{1}\u{1f}\n\"\\/", #""\u0001\u001f\n\"\\/""#), ("a\u{2028}b\u{2029}", #""a\u2028b\u2029""#), ("€ é", "\"€ é\""),
        ([], "[]"), ([:], "{}"), (["b": 1, "a": [.null, false]], #"{"b":1,"a":[null,false]}"#),
    ]

    @Test(arguments: written)
    func `values are written as JSON`(_ value: JSON, _ text: String) { #expect(value.text == text) }

    @Test(arguments: [0, 7, -7, 10, 99, 100, -1000, .max, .min] as [Int64])
    func `whole numbers are written with all digits`(_ number: Int64) {
        #expect(JSON.int(number).text == String(number))
    }

    @Test(arguments: ["\"", "\\", "\n", "\u{1f}", "\u{2028}", "\u{2029}", "—", "€", "\u{202a}", "😀", "ä"])
    func `every character is written correctly at any position of a text`(_ character: String) throws {
        let escaped = JSON.string(character).text.dropFirst().dropLast()
        for before in 0..<20 {
            for after in [0, 1, 7, 8, 9, 2000] {
                let (start, end) = (String(repeating: "a", count: before), String(repeating: "z", count: after))
                #expect(JSON.string(start + character + character + end).text == "\"\(start)\(escaped)\(escaped)\(end)\"")
            }
        }
    }

    @Test func `an object made from distinct members equals one built member by member`() {
        let members = (0..<40).map { ("key \($0)", JSON.int(Int64($0))) }
        let object = JSON.Object(distinct: members)
        #expect(object == JSON.Object(members))
        #expect(object["key 39"] == 39)
        #expect(object["key 40"] == nil)
    }

    @Test func `pretty text is indented`() {
        let value: JSON = ["b": [1, 2], "a": [:], "c": []]
        #expect(
            value.text(JSON.Style(pretty: true, sorted: true)) == """
                {
                  "a": {},
                  "b": [
                    1,
                    2
                  ],
                  "c": []
                }
                """)
    }

    @Test func `numbers convert only to types that can hold them`() {
        #expect(JSON.double(3).asInt == 3)
        #expect(JSON.double(3.5).asInt == nil)
        #expect(JSON.int(3).asDouble == 3)
        #expect(JSON.string("3").asInt == nil)
        #expect(JSON.int(1) != JSON.double(1))
    }

    @Test(arguments: [-1, 0, 1, 2, 3, 99]) func `a member is found whatever index is tried first`(_ first: Int) {
        let object: JSON.Object = ["a": 1, "b": 2, "c": 3]
        var place = first
        #expect(object.value(of: "b", near: &place) == 2)
        #expect(place == 1)
        #expect(object.value(of: "d", near: &place) == nil)
        #expect(place == 1)
        #expect(JSON.Object().value(of: "b", near: &place) == nil)
    }
}
