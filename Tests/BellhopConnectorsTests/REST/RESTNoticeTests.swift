import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Notices about settings that find nothing in a source's answers.
@Suite(.closing) struct RESTNoticeTests {
    private func notices(_ settings: JSON.Object, items: Int = 15) async throws -> [String] {
        let practice = WebPractice()
        for number in 1...items { practice.api.add("issue \(number)") }
        return try await practice.source(settings).list(from: LastPoll()).notices
    }

    private static func cursor(_ next: String, size: JSON? = 4) -> JSON.Object {
        var paging: JSON.Object = ["by": "cursor", "next": .string(next)]
        if let size { (paging["size"], paging["size_parameter"]) = (size, "limit") }
        return ["path": "cursor", "items": "data.items", "paging": .object(paging)]
    }

    @Test func `a full page without a link to the next is reported, because the list may be incomplete`() async throws {
        let expected =
            "The answers to source issues have nothing at `data.next` (`paging.next`): the list may continue after these 4 items, and the rest is not read."
        #expect(try await notices(Self.cursor("data.next")) == [expected])
        // Without a configured size, the server's own is a round number.
        #expect(try await notices(Self.cursor("data.next", size: nil), items: 30).first?.contains("these 25 items") == true)
        let link: JSON.Object = [
            "path": "link", "paging": ["by": "link", "next": "next", "size": 4, "size_parameter": "per_page"],
        ]
        #expect(try await notices(link).first?.contains("nothing at `next`") == true)
        let field: JSON.Object = ["path": "list", "paging": ["by": "link", "size": 15]]
        #expect(try await notices(field).first?.contains("no field `Link`") == true)
    }

    @Test func `a setting for a total count that no answer has is reported`() async throws {
        let settings: JSON.Object = [
            "path": "offset", "items": "issues",
            "paging": ["by": "offset", "size": 4, "size_parameter": "limit", "total": "totl"],
        ]
        #expect(
            try await notices(settings) == [
                "The answers to source issues have nothing at `totl` (`paging.total`): whether the list is complete is unknown."
            ])
    }

    @Test(arguments: RESTSourceTests.ways)
    func `paging settings that match the answers cause no notice`(_ settings: JSON.Object) async throws {
        for items in [1, 2, 4, 10] { #expect(try await notices(settings, items: items) == [], "\(items)") }
        #expect(try await notices(Self.cursor("next")) == [])
        // A last page that is not full needs no link to a next page.
        #expect(try await notices(Self.cursor("data.next"), items: 3) == [])
        #expect(try await notices(Self.cursor("data.next", size: nil), items: 7) == [])
    }

    @Test func `the doctor's look at the first page reports settings that find nothing`() async throws {
        let practice = WebPractice()
        for number in 1...15 { practice.api.add("issue \(number)") }
        let source = try await practice.source(Self.cursor("data.next"))
        let probe = try #require(source.probe)
        let words = try await source.words(for: practice.connection(probe.address.origin).session.read(probe).response)
        #expect(words == "4 items on the first page, and nothing at `data.next` (`paging.next`)")
    }

    @Test func `a setting for a change time that no item has is reported`() async throws {
        func settings(_ field: String) -> JSON.Object {
            ["path": "list", "since": ["parameter": "updated_since", "field": .string(field)]]
        }
        #expect(
            try await notices(settings("nope")) == [
                "No item of source issues has a time at `nope` (`since.field`), so every poll lists everything, and `updated_since` is never sent."
            ])
        #expect(try await notices(settings("updated_at")) == [])
    }
}
