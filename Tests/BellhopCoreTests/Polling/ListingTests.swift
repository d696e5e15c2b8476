import BellhopCore
import Testing

struct ListingTests {
    private static let answer = Array(
        """
        {"result":{"Incident":[{"number":"INC1","sys_id":"0123456789abcdef0123456789abcdef","short_desc":"é \\"x\\""},
        {"sys_id":"b","n":{"sys_id":"inner"}}],"Leer":[],"Catalog Task":[ { "sys_id" : "c" } ]},"more":[1,{"sys_id":"c"}]}
        """.utf8)

    @Test func `a listing has its records in order, each with key, group, range and values`() throws {
        let listing = try Listing(Self.answer, shape: .serviceNow)
        #expect(listing.entries.map(\.key) == ["0123456789abcdef0123456789abcdef", "b", "c"])
        #expect(listing.entries.map { listing.group(of: $0) } == ["Incident", "Incident", "Catalog Task"])
        #expect(listing.groups == ["Incident", "Leer", "Catalog Task"])
        #expect(listing.entries.map { String(decoding: Self.answer[$0.range], as: UTF8.self) }[2] == #"{ "sys_id" : "c" }"#)
        #expect(listing.record(of: listing.entries[0])["short_desc"] == "é \"x\"")
        #expect(listing.record(of: listing.entries[1]) == ["sys_id": "b", "n": ["sys_id": "inner"]])
    }

    @Test(arguments: [#"{"result":{}}"#, #" { "result" : { } } "#, #"{"result":[]}"#, #"{"result":{"Incident":[]}}"#])
    func `an empty list has no records`(_ text: String) throws {
        #expect(try Listing(Array(text.utf8), shape: .serviceNow).entries.isEmpty)
    }

    @Test func `every truncation of an answer is refused`() {
        for length in 0..<Self.answer.count {
            #expect(throws: ListingError(.json(.ended), at: length)) {
                try Listing(Array(Self.answer[..<length]), shape: .serviceNow)
            }
        }
    }

    @Test func `a record's fingerprint depends on its bytes and its group`() throws {
        func fingerprints(_ text: String) throws -> [Fingerprint] {
            try Listing(Array(text.utf8), shape: .serviceNow).entries.map(\.fingerprint)
        }
        let one = try fingerprints(#"{"result":{"A":[{"sys_id":"1","x":1}],"B":[{"sys_id":"2","x":1}]}}"#)
        #expect(try fingerprints(#"{"result":{"B":[{"sys_id":"2","x":1}], "A":[{"sys_id":"1","x":1}]}}"#) == one.reversed())
        #expect(try fingerprints(#"{"result":{"B":[{"sys_id":"1","x":1}],"A":[{"sys_id":"2","x":1}]}}"#) != one)
        #expect(try fingerprints(#"{"result":{"A":[{"sys_id":"1","x":2}],"B":[{"sys_id":"2","x":1}]}}"#)[0] != one[0])
        #expect(try fingerprints(#"{"result":{"A":[{"sys_id":"1","x":2}],"B":[{"sys_id":"2","x":1}]}}"#)[1] == one[1])
    }

    private static let refused: [(String, ListingError)] = [
        ("[]", ListingError(.shape(expected: "an object"), at: 0)),
        (#"{"error":{"message":"no"}}"#, ListingError(.noRecords(path: JSON.Path(keys: ["result"])), at: 0)),
        ("{}", ListingError(.noRecords(path: JSON.Path(keys: ["result"])), at: 0)),
        (#"{"result":null}"#, ListingError(.shape(expected: "an array or an object of arrays"), at: 10)),
        (#"{"result":{"Incident":{}}}"#, ListingError(.shape(expected: "an array"), at: 22)),
        (#"{"result":[1]}"#, ListingError(.shape(expected: "an object"), at: 11)),
        (#"{"result":[{"a":1}]}"#, ListingError(.noKey(path: JSON.Path(keys: ["sys_id"])), at: 11)),
        (#"{"result":[{"sys_id":""}]}"#, ListingError(.noKey(path: JSON.Path(keys: ["sys_id"])), at: 11)),
        (#"{"result":[{"sys_id":null}]}"#, ListingError(.noKey(path: JSON.Path(keys: ["sys_id"])), at: 11)),
        (#"{"result":[{"sys_id":["a"]}]}"#, ListingError(.noKey(path: JSON.Path(keys: ["sys_id"])), at: 11)),
        (#"{"result":[{"x":{"sys_id":"a"}}]}"#, ListingError(.noKey(path: JSON.Path(keys: ["sys_id"])), at: 11)),
        (#"{"result":[{"sys_id":"a"},{"sys_id":"\u0061"}]}"#, ListingError(.duplicateKey("a"), at: 26)),
        (#"{"result":{"A":[{"sys_id":"a"}],"B":[{"sys_id":"a"}]}}"#, ListingError(.duplicateKey("a"), at: 37)),
        (#"{"result":[{"sys_id":"a","sys_id":"b"}]}"#, ListingError(.duplicateName("sys_id"), at: 11)),
        (#"{"result":{"A":[],"A":[]}}"#, ListingError(.duplicateName("A"), at: 22)),
        (#"{"result":[],"result":[]}"#, ListingError(.duplicateName("result"), at: 22)),
        (#"{"result":[{"sys_id":"a"},]}"#, ListingError(.json(.unexpected(UInt8(ascii: "]"))), at: 26)),
        (#"{"result":[]}}"#, ListingError(.json(.trailing), at: 13)),
        ("<html>", ListingError(.json(.unexpected(UInt8(ascii: "<"))), at: 0)),
        (#"{"result":[{"sys_id":"a","x":01}]}"#, ListingError(.json(.number), at: 29)),
    ]

    @Test(arguments: refused) func `an answer that is not a complete list is refused`(_ text: String, _ error: ListingError) {
        #expect(throws: error) { try Listing(Array(text.utf8), shape: .serviceNow) }
    }

    @Test func `two records with one key are refused, whatever their positions`() throws {
        for (first, second) in [(0, 1), (0, 999), (254, 255), (255, 256), (300, 700), (998, 999)] {
            let keys = (0..<1_000).map { $0 == second ? "key \(first)" : "key \($0)" }
            let text = #"{"result":["# + keys.map { #"{"sys_id":"\#($0)"}"# }.joined(separator: ",") + "]}"
            let error = #expect(throws: ListingError.self) { try Listing(Array(text.utf8), shape: .serviceNow) }
            #expect(error?.reason == .duplicateKey(TaskKey("key \(first)")))
        }
    }

    @Test func `records and keys are found at the paths given by the shape`() throws {
        let shape = ListingShape(items: try #require(JSON.Path(text: "data[1].items")), key: ["fields", "id"])
        let body = #"{"data":[0,{"items":[{"fields":{"x":1,"id":7}},{"id":1,"a":{"id":2},"fields":{"id":"8"}}]},{"items":[]}]}"#
        #expect(try Listing(Array(body.utf8), shape: shape).entries.map(\.key) == ["7", "8"])
        #expect(throws: ListingError(.noRecords(path: shape.items), at: 8)) {
            try Listing(Array(#"{"data":[0]}"#.utf8), shape: shape)
        }
        let bare = ListingShape(items: JSON.Path(), key: ["id"])
        #expect(try Listing(Array(#"[{"\u0069d":1}]"#.utf8), shape: bare).entries.map(\.key) == ["1"])
    }

    @Test(arguments: [#"{"result":[{"sys_id":"a"}]}"#, #"{"result":{"Open":[{"sys_id":"a"}]}}"#])
    func `with another seed the same record counts as changed`(_ body: String) throws {
        var shape = ListingShape.serviceNow
        let before = try Listing(Array(body.utf8), shape: shape).entries.map(\.fingerprint)
        shape.seed = Fingerprint.of("other fields")
        #expect(try Listing(Array(body.utf8), shape: shape).entries.map(\.fingerprint) != before)
    }

    @Test func `pages are joined into one listing, unless a record is on two of them`() throws {
        let first = try Listing(Array(#"{"result":[{"sys_id":"a"},{"sys_id":"b"}]}"#.utf8), shape: .serviceNow)
        let second = try Listing(Array(#"{"result":[{"sys_id":"c"}]}"#.utf8), shape: .serviceNow)
        let both = try Listing(pages: [first, second])
        #expect(both.entries.map(\.key) == ["a", "b", "c"])
        #expect(both.entries.map(\.fingerprint) == (first.entries + second.entries).map(\.fingerprint))
        #expect(both.record(of: both.entries[2]) == ["sys_id": "c"])
        #expect(throws: ListingError(.duplicateKey("a"), at: first.body.count + 11)) { try Listing(pages: [first, first]) }
    }

    @Test func `entries are returned in the listing's order, and missing keys in the order asked`() throws {
        let listing = try Listing(Self.answer, shape: .serviceNow)
        let (found, missing) = listing.search(for: ["x", "c", "b", "absent", "c"])
        #expect(found == [listing.entries[1], listing.entries[2]])
        #expect(missing == ["x", "absent"])
        #expect(listing.search(for: []).found.isEmpty)
        #expect(Listing().search(for: ["a"]).missing == ["a"])
    }

    @Test func `equal records have equal fingerprints, whatever the order of their members`() throws {
        let one = try Listing(records: [("a", ["x": 1, "y": 2]), ("b", [:])])
        let other = try Listing(records: [("a", ["y": 2, "x": 1]), ("b", [:])])
        #expect(one.entries.map(\.fingerprint) == other.entries.map(\.fingerprint))
        #expect(one.entries.map(\.key) == ["a", "b"])
        #expect(one.record(of: one.entries[0]) == ["x": 1, "y": 2])
        #expect(throws: ListingError.self) { try Listing(records: [("a", 1), ("a", 2)]) }
    }
}

extension ListingShape {
    /// Records under `result`, in groups or not, each with a `sys_id`.
    static let serviceNow = ListingShape(items: JSON.Path(keys: ["result"]), key: ["sys_id"])
}
