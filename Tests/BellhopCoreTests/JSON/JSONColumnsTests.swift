import BellhopCore
import Testing

@Suite struct JSONColumnsTests {
    /// The values of the columns `a`, `b` and `long name`, for one object after the other.
    private func read(_ objects: [String]) throws -> [[JSON?]] {
        var columns = JSONColumns(["a", "b", "long name"])
        return try objects.map { object in
            let tape = try JSONTape(Array(object.utf8))
            columns.read(tape)
            return columns.names.indices.map { columns[$0].map(tape.value(of:)) }
        }
    }

    @Test func `columns are found in any order of an object's members`() throws {
        let rows = try read([
            #"{"a":1,"b":2,"long name":3}"#, #"{"a":4,"b":5,"long name":6}"#, #"{"long name":9,"a":7,"b":8}"#,
            #"{"x":{"a":0},"b":11,"y":["a"],"a":10,"long name":12}"#, #"{"a":13,"b":14,"long name":15}"#,
        ])
        #expect(rows == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [13, 14, 15]])
    }

    @Test func `a member missing from an object does not get the previous object's value`() throws {
        let rows = try read([#"{"a":1,"b":2,"long name":3}"#, #"{"b":4}"#, "{}", "[1]", #"{"b":{"a":5}}"#])
        #expect(rows == [[1, 2, 3], [nil, 4, nil], [nil, nil, nil], [nil, nil, nil], [nil, ["a": 5], nil]])
    }

    @Test func `the last of several members with one name counts, and names may contain escapes`() throws {
        #expect(try read([#"{"a":1,"a":2,"\u0062":3,"long\u0020name":4}"#]) == [[2, 3, 4]])
    }
}
