import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Lists of several pages: completeness and memory.
@Suite(.closing) struct RESTPagingTests {
    let practice = WebPractice()
    var api: SimulatedAPI { practice.api }

    /// Ways of paging in which a removed item moves the following ones up.
    static let ways: [JSON.Object] = [
        ["path": "link", "paging": ["by": "link", "size": 3, "size_parameter": "per_page"]],
        ["path": "page", "items": "items", "paging": ["by": "page", "size": 3, "size_parameter": "per_page"]],
        [
            "path": "cursor", "items": "data.items",
            "paging": ["by": "cursor", "next": "next", "size": 3, "size_parameter": "limit"],
        ],
    ]

    private func known(_ listing: Listing) -> KnownTasks {
        KnownTasks(listing.entries.map { KnownTask(key: $0.key, listed: $0.fingerprint) })
    }

    @Test(arguments: ways)
    func `an item that moves to a page already read counts as listed`(_ settings: JSON.Object) async throws {
        for number in 1...12 { api.add("issue \(number)") }
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        #expect(first.listing.entries.count == 12)
        // The first issue is removed after each page: the fourth and every fourth after it are on no page that is read.
        api.quirks = [.shrinking]
        let lastPoll = LastPoll(known: known(first.listing))
        let second = try await source.list(from: lastPoll)
        let gone = lastPoll.known.compare(with: second).gone.map(\.text)
        #expect(!api.issues.isEmpty)
        #expect(Set(gone).isDisjoint(with: api.issues.map { String($0.id) }), "\(gone)")
        // The next poll reports the tasks that have left by then.
        api.quirks = []
        let third = try await source.list(from: lastPoll)
        let left = Set(lastPoll.known.compare(with: third).gone.map(\.text))
        #expect(left == Set((1...12).map(String.init)).subtracting(api.issues.map { String($0.id) }))
    }

    @Test(arguments: ways)
    func `the first list lacks no item that moved to a page already read`(_ settings: JSON.Object) async throws {
        for number in 1...12 { api.add("issue \(number)") }
        // The first issue is removed after each page.
        api.quirks = [.shrinking]
        let source = try await practice.source(settings)
        let listed = try await source.list(from: LastPoll()).listing.entries.map(\.key.text)
        let left = api.issues.map { String($0.id) }
        #expect(!left.isEmpty && Set(left).isSubset(of: listed), "\(left) \(listed)")
    }

    @Test func `a new item that moved to a page already read of a later whole list is among the next changes`() async throws {
        for number in 1...4 { api.add("issue \(number)") }
        var settings = Self.changes(size: 4, overlap: 0)
        settings["paging"] = ["by": "page", "size": 4, "size_parameter": "per_page"]
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        await practice.clock.advance(by: .seconds(3600))
        let new = String(api.add("new"))
        await practice.clock.advance(by: .seconds(600))
        api.change(2) { $0.state = "closed" }
        api.quirks = [.shrinking]
        let whole = try await source.list(
            from: LastPoll(cursor: first.cursor, answer: first.fingerprint, known: known(first.listing)))
        #expect(whole.coverage == .whole && !whole.listing.entries.contains { $0.key.text == new })
        api.quirks = []
        let part = try await source.list(from: LastPoll(whole))
        #expect(part.coverage == .part && part.listing.entries.contains { $0.key.text == new })
    }

    @Test(arguments: ways)
    func `later, the pages are read a second time only if known items are missing from several pages`(_ settings: JSON.Object)
        async throws
    {
        for number in 1...5 { api.add("issue \(number)") }
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        // The first list is read twice.
        let once = practice.simulation.requests.total / 2
        let lastPoll = LastPoll(known: known(first.listing))
        api.add("new")
        _ = try await source.list(from: lastPoll)
        #expect(practice.simulation.requests.total <= 3 * once + 1)
        let before = practice.simulation.requests.total
        api.remove(1)
        let second = try await source.list(from: lastPoll)
        #expect(lastPoll.known.compare(with: second).gone == [TaskKey("1")])
        #expect(practice.simulation.requests.total - before == 2 * once)
    }

    @Test func `a changed item that moves to a page already read is listed among the changes`() async throws {
        for number in 1...6 { api.add("issue \(number)") }
        let settings: JSON.Object = [
            "path": "page", "items": "items", "paging": ["by": "page", "size": 2, "size_parameter": "per_page"],
            "since": ["parameter": "updated_since", "field": "updated_at"],
        ]
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        await practice.clock.advance(by: .seconds(600))
        for id in 1...6 { api.change(id) { $0.state = "closed" } }
        // The first issue is removed after each page: the third and the sixth are on no page of the first pass.
        api.quirks = [.shrinking]
        let part = try await source.list(from: LastPoll(first))
        #expect(part.coverage == .part)
        #expect(part.listing.entries.contains { $0.key.text == "6" }, "\(part.listing.entries.map(\.key.text))")
    }

    /// Settings of a source that asks for changes, page by page.
    /// - Parameter overlap: in microseconds.
    private static func changes(size: Int64, overlap: Int64) -> JSON.Object {
        [
            "path": "page", "items": "items",
            "paging": ["by": "page", "size": .int(size), "size_parameter": "per_page", "total": "total"],
            "since": ["parameter": "updated_since", "field": "updated_at", "overlap": .int(overlap)],
        ]
    }

    @Test func `several pages are read again only if the next poll asks for later changes`() async throws {
        for number in 1...4 { api.add("issue \(number)") }
        let source = try await practice.source(Self.changes(size: 2, overlap: 3_600_000_000))
        var latest = try await source.list(from: LastPoll())
        for (isChanged, requests) in [(false, 2), (true, 4), (false, 2)] {
            await practice.clock.advance(by: .seconds(600))
            if isChanged { api.change(2) { $0.state = "closed" } }
            let asked = practice.simulation.requests.total
            latest = try await source.list(from: LastPoll(latest))
            #expect(latest.coverage == .part && latest.listing.entries.count == 4)
            #expect(practice.simulation.requests.total - asked == requests)
        }
    }

    @Test func `one page of changes is read once`() async throws {
        for number in 1...4 { api.add("issue \(number)") }
        let source = try await practice.source(Self.changes(size: 3, overlap: 0))
        let first = try await source.list(from: LastPoll())
        await practice.clock.advance(by: .seconds(600))
        api.change(2) { $0.state = "closed" }
        let part = try await source.list(from: LastPoll(first))
        await practice.clock.advance(by: .seconds(600))
        let asked = practice.simulation.requests.total
        let next = try await source.list(from: LastPoll(part))
        #expect(next.listing.entries.map(\.key.text) == ["2"])
        #expect(practice.simulation.requests.total - asked == 1)
    }

    @Test(arguments: [0, 0.0, "0", "", .null, false, [], [:]] as [JSON])
    func `an empty cursor, or 0, ends the list`(_ cursor: JSON) async throws {
        practice.simulation.faults.add(
            .status(200, body: #"{"items": [{"id": 1, "title": "a"}], "next": \#(cursor.text)}"#))
        let titles = try await practice.titles(["path": "cursor", "items": "items", "paging": ["by": "cursor", "next": "next"]])
        #expect(titles == ["a"])
        #expect(practice.simulation.requests.total == 1)
    }

    @Test(
        arguments: [
            ("7", "query", "7"), (#""a b""#, "query", "a b"), ("1767603600.25", "query", "1767603600.25"),
            (#"{"id": 7}"#, "body", ["id": 7]), ("[7]", "body", [7]),
            (#"{"id": 7}"#, "query", nil), ("true", "body", nil), ("18446744073709551616", "query", nil),
        ] as [(String, String, JSON?)])
    func `a cursor that cannot be sent back as it came fails the poll, and does not end the list`(
        _ cursor: String, _ place: String, _ sent: JSON?
    ) throws {
        let settings: JSON.Object = ["paging": ["by": "cursor", "next": "next", "in": .string(place)], "json": [:]]
        var pager = Pager(try Paging(Settings(settings), source: "s"))
        let page = try Listing(Array(#"[{"id": 1}]"#.utf8), shape: ListingShape(items: JSON.Path(), key: ["id"]))
        let body = try JSON.parse(#"{"next": \#(cursor)}"#)
        let address = try HTTPAddress("https://api.example.com/list")
        let turn = Result { () throws(Pager.Problem) in
            try pager.next(after: page, body: body, headers: [:], from: address)
        }
        switch turn {
        case .success(.parameters(let parameters)?):
            let value = parameters.first?.value
            let written = place == "body" ? value : value.map { JSON.string(RequestArguments.words($0)) }
            #expect(sent != nil && written == sent)
        case .failure(let problem): #expect(sent == nil && problem.message.contains("(`paging.next`) is a"))
        case .success: Issue.record("the list ends")
        }
    }

    @Test(
        arguments: [
            ("http://api.example.com/list?page=2", "https://api.example.com/list?page=2"),
            ("/list?page=2", "https://api.example.com/list?page=2"), ("http://api.example.com:8080/list", nil),
            ("http://evil.example/list", nil),
        ] as [(String, String?)])
    func `a link to the same host over http is followed over https`(_ link: String, _ followed: String?) throws {
        let paging = try #require(try Paging(Settings(["paging": ["by": "link", "next": "next"]]), source: "s"))
        let body = Array(#"{"items": [{"id": 1}]}"#.utf8)
        let page = try Listing(body, shape: ListingShape(items: JSON.Path(keys: ["items"]), key: ["id"]))
        let address = try HTTPAddress("https://api.example.com/list")
        var pager = Pager(paging)
        let turn = try? pager.next(after: page, body: ["next": .string(link)], headers: [:], from: address)
        let expected = try followed.map { try HTTPAddress($0) }.map(Pager.Turn.address)
        #expect(turn == expected)
    }

    @Test func `a failed second reading removes no items`() async throws {
        for number in 1...5 { api.add("issue \(number)") }
        let source = try await practice.source(Self.ways[0])
        let first = try await source.list(from: LastPoll())
        api.remove(1)
        practice.simulation.faults.add(.badGateway, skip: 2)
        let failure = await failure { _ = try await source.list(from: LastPoll(known: known(first.listing))) }
        #expect(failure?.reason == .gateway)
    }

    @Test func `a list that is too large in total is refused, with the setting to raise`() async throws {
        for number in 1...60 { api.add("issue \(number)") }
        func settings(_ most: Int) -> JSON.Object {
            ["path": "link", "paging": ["by": "link", "size": 10, "size_parameter": "per_page", "max_total": .int(Int64(most))]]
        }
        let failure = await practice.failure(settings(4000))
        #expect(failure?.reason == .tooLarge && failure?.remedy == .retry(after: nil))
        #expect(
            failure?.message.contains("together larger than the 4 KB that `paging.max_total` of source issues allows") == true)
        let asked = practice.simulation.requests.total
        #expect(asked < 6, "reading ends with the page over the limit")
        #expect(try await practice.titles(settings(40_000)).count == 60)
    }
}
