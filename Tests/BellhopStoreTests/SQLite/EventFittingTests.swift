import BellhopCore
import Testing

@testable import BellhopStore

@Suite struct `Cutting events to size` {
    private func fit(_ data: JSON.Object, _ limit: Int) throws -> JSON.Object {
        var bytes: [UInt8] = []
        EventFitting.encode(data, into: &bytes, limit: limit)
        #expect(bytes.count <= limit)
        return try #require(JSON.parse(bytes).asObject)
    }

    @Test func `an event within the limit is unchanged`() throws {
        let data: JSON.Object = ["a": "x", "b": [1, 2]]
        #expect(try fit(data, JSON.object(data).encoded().count) == data)
    }

    @Test func `the longest text is cut, with the number of bytes left out`() throws {
        let long = String(repeating: "0123456789", count: 100)
        let fitted = try fit(["short": "stays", "log": .string(long), "task": ["title": .string(String(long.prefix(150)))]], 600)
        #expect(fitted["short"] == "stays")
        #expect(fitted["task"]?["title"] == .string(String(long.prefix(150))))
        let text = try #require(fitted["log"]?.asString)
        let kept = try #require(text.split(separator: "…").first)
        #expect(text == "\(kept)… [cut, \(1000 - kept.utf8.count) bytes]")
        #expect(long.hasPrefix(kept))
        #expect(kept.utf8.count > 200)
    }

    @Test(arguments: ["ü", "€", "👩‍👩‍👧", "\n", "\"", "\u{1}"])
    func `texts are cut between Unicode scalars, whatever their escaped length`(_ piece: String) throws {
        let long = String(repeating: piece, count: 3000)
        for limit in 900..<908 {
            let text = try #require(try fit(["log": .string(long)], limit)["log"]?.asString)
            let kept = try #require(text.split(separator: "…").first)
            #expect(long.unicodeScalars.starts(with: kept.unicodeScalars))
        }
    }

    @Test func `several long texts share the available space`() throws {
        let long = JSON.string(String(repeating: "x", count: 5000))
        let fitted = try fit(["a": long, "b": [long, ["c": long]]], 6000)
        #expect(JSON.object(fitted).encoded().count > 5000)
    }

    @Test func `a large event without long texts loses its largest member`() throws {
        let fitted = try fit(["keep": "me", "tasks": .array((0..<5000).map { .int($0) })], 2000)
        #expect(fitted["keep"] == "me")
        #expect(fitted["tasks"]?.asString?.hasPrefix("… [cut, ") == true)
    }

    @Test func `an event with too many names is replaced by a note`() throws {
        let data = JSON.Object((0..<1000).map { ("name \($0)", 1) })
        #expect(try fit(data, 500)["cut"] != nil)
    }
}
