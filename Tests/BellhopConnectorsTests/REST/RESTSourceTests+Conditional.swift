import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Conditional requests, and those for changes only (`since`).
extension RESTSourceTests {
    @Test func `an unchanged list of one page is answered without a body`() async throws {
        _ = add(4)
        let source = try await practice.source(["path": "list"])
        let first = try await source.list(from: LastPoll())
        let again = try await source.list(from: LastPoll(first))
        #expect(again.coverage == .same && again.cursor == first.cursor && again.fingerprint == first.fingerprint)
        api.add("news")
        #expect(try await source.list(from: LastPoll(again)).listing.entries.count == 5)
        // If the answer must be read in any case, the request is unconditional.
        #expect(try await source.list(from: LastPoll(cursor: first.cursor)).coverage == .whole)
        let asked = practice.simulation.requests.all.map { $0.header("If-None-Match") != nil }
        #expect(asked == [false, true, true, false])
    }

    @Test(arguments: [[:], ["since": ["parameter": "updated_since", "field": "updated_at"]]] as [JSON.Object])
    func `other fields are read from unchanged items too`(_ more: JSON.Object) async throws {
        _ = add(2)
        let connection = try await practice.open()
        func source(_ fields: JSON) throws -> RESTSource {
            let settings = JSON.Object(["path": "list", "id": "id", "fields": fields], with: more)
            return try RESTSource(name: "issues", settings: Settings(settings), connection: connection)
        }
        var observer = TableObserver()
        _ = try await observer.poll(source(["state"]))
        #expect(try await observer.poll(source(["state"])).1.isEmpty)
        let (answer, comparison) = try await observer.poll(source(["state", "priority"]))
        #expect(answer.coverage == .whole && comparison.changed.count == 2)
        #expect(try await observer.poll(source(["state", "priority"])).1.isEmpty)
        let other = try source(["state": "title", "priority": ["type": "int"], "title": "title"])
        #expect(try await observer.poll(other).1.changed.count == 2)
        #expect(try other.redefined(since: source(["state", "priority"])) == ["state", "priority"])
    }

    @Test func `paging and checks that are set later are used at once, although the first page is unchanged`() async throws {
        _ = add(5)
        let connection = try await practice.open()
        func source(_ more: JSON.Object) throws -> RESTSource {
            let settings = JSON.Object(["path": "link", "id": "id", "query": ["per_page": 3]], with: more)
            return try RESTSource(name: "issues", settings: Settings(settings), connection: connection)
        }
        let first = try await source([:]).list(from: LastPoll())
        #expect(first.listing.entries.count == 3)
        #expect(try await source([:]).list(from: LastPoll(first)).coverage == .same)
        let paged = try await source(["paging": ["by": "link"]]).list(from: LastPoll(first))
        #expect(paged.listing.entries.count == 5)
        let refused = await failure { _ = try await source(["check": ["ok": true]]).list(from: LastPoll(first)) }
        #expect(refused?.reason == .badAnswer)
    }

    @Test(arguments: ways.filter { $0["method"] == nil })
    func `a first item on a further page is found, although the page before is unchanged`(_ settings: JSON.Object) async throws {
        for count in 1...8 {
            let practice = WebPractice()
            for number in 1...count { practice.api.add("issue \(number)") }
            let source = try await practice.source(settings)
            let first = try await source.list(from: LastPoll())
            let same = try await source.list(from: LastPoll(first))
            #expect(same.fingerprint == first.fingerprint)
            practice.api.add("news")
            let second = try await source.list(from: LastPoll(same))
            #expect(second.coverage == .whole && second.listing.entries.count == count + 1, "\(count)")
        }
    }

    @Test func `a Last-Modified date alone is used only if it is some seconds old`() {
        let now = SampleDelivery.now
        func validators(_ age: Int, _ more: HeaderFields = [:]) -> Validators {
            let headers: HeaderFields = ["Last-Modified": (now - .seconds(age)).httpDate, "Date": now.httpDate]
            return Validators(headers.with(more))
        }
        #expect(validators(0) == Validators() && validators(4) == Validators())
        #expect(validators(5).modified != nil)
        #expect(validators(0, ["ETag": "x"]).modified != nil)
        #expect(Validators(["Last-Modified": "soon"]) == Validators())
    }

    @Test func `with since, polls request only changes, and the whole list at each reconciliation`() async throws {
        _ = add(3)
        let settings: JSON.Object = [
            "path": "list", "since": ["parameter": "updated_since", "field": "updated_at"], "reconcile": 3_600_000_000,
        ]
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        #expect(first.coverage == .whole && first.listing.entries.count == 3)
        await practice.clock.advance(by: .seconds(600))
        api.change(2) { $0.state = "closed" }
        let part = try await source.list(from: LastPoll(first))
        // The overlap of two minutes reaches back from the latest change seen.
        #expect(part.coverage == .part && part.listing.entries.count == 3)
        await practice.clock.advance(by: .seconds(600))
        api.remove(1)
        let less = try await source.list(from: LastPoll(part))
        #expect(less.coverage == .part && less.listing.entries.map(\.key.text) == ["2"])
        await practice.clock.advance(by: .seconds(3000))
        #expect(try await source.list(from: LastPoll(less)).coverage == .whole)
        let queries = practice.simulation.requests.all.map { $0.parameter("updated_since") }
        #expect(queries.map { $0 == nil } == [true, false, false, true])
        #expect(queries[2]?.hasSuffix("Z") == true && queries[2]?.utf8.count == 20)
    }

    @Test func `an item that came and went between two whole lists is removed, although the list is unchanged`() async throws {
        _ = add(2)
        let settings: JSON.Object = [
            "path": "list", "since": ["parameter": "updated_since", "field": "updated_at"], "reconcile": 3_600_000_000,
        ]
        let source = try await practice.source(settings)
        var observer = TableObserver()
        _ = try await observer.poll(source)
        await practice.clock.advance(by: .seconds(600))
        let id = api.add("short-lived")
        #expect(try await observer.changes(in: source) == [String(id)])
        api.remove(id)
        await practice.clock.advance(by: .seconds(3600))
        let (answer, comparison) = try await observer.poll(source)
        #expect(answer.coverage == .whole && comparison.gone.map(\.text) == [String(id)])
    }

    @Test func `with paging in the body, since is a parameter of the address`() async throws {
        _ = add(5)
        let settings: JSON.Object = [
            "path": "search", "method": "POST", "json": ["query": "open"], "items": "issues", "title": "fields.summary",
            "paging": ["by": "offset", "parameter": "startAt", "size": 2, "size_parameter": "maxResults", "in": "body"],
            "since": ["parameter": "updated_since", "field": "fields.updated", "overlap": 0], "reconcile": 3_600_000_000,
        ]
        let source = try await practice.source(settings)
        let first = try await source.list(from: LastPoll())
        #expect(first.coverage == .whole && first.listing.entries.count == 5)
        await practice.clock.advance(by: .seconds(600))
        for id in 2...4 { api.change(id) { $0.state = "closed" } }
        let asked = practice.simulation.requests.total
        let part = try await source.list(from: LastPoll(first))
        #expect(part.coverage == .part)
        // The latest item of the first poll is listed too: this poll starts at its time.
        #expect(part.listing.entries.count == 5)
        await practice.clock.advance(by: .seconds(600))
        api.change(3) { $0.state = "open" }
        let next = try await source.list(from: LastPoll(part))
        #expect(next.listing.entries.map(\.key.text) == ["10002", "10003", "10004"])
        let requests = Array(practice.simulation.requests.all.dropFirst(asked))
        #expect(requests.allSatisfy { $0.parameters.map(\.name) == ["updated_since"] })
        let bodies = try requests.map { try JSON.parse($0.body) }
        #expect(bodies.allSatisfy { $0["query"] == "open" && $0["maxResults"] == 2 && $0["updated_since"] == nil })
        let starts: [Int64] = bodies.compactMap { $0["startAt"]?.asInt }
        #expect(Set(starts).isSuperset(of: [0, 1, 2]))
    }

    @Test func `an item with a time in the far future hides no change of the others`() async throws {
        _ = add(3)
        api.quirks = [.farFuture]
        let settings: JSON.Object = ["path": "list", "since": ["parameter": "updated_since", "field": "updated_at"]]
        let source = try await practice.source(settings)
        var answer = try await source.list(from: LastPoll())
        for round in 1...3 {
            await practice.clock.advance(by: .seconds(600))
            api.change(2) { $0.state = "round \(round)" }
            answer = try await source.list(from: LastPoll(answer))
            #expect(answer.coverage == .part)
            #expect(answer.listing.entries.contains { $0.key.text == "2" }, "round \(round)")
        }
    }

    @Test(arguments: [
        ("rfc3339", "2026-01-05T08:58:00Z"), ("date", "2026-01-04"), ("seconds", "1767603480"), ("milliseconds", "1767603480000"),
    ])
    func `the time in since is written in the configured format`(_ format: String, _ written: String) throws {
        let settings = Settings(["since": ["parameter": "p", "field": "f", "format": .string(format)]])
        let since = try #require(try Since(settings, source: "s"))
        #expect(since.pair(SampleDelivery.now) == ("p", written))
    }
}
