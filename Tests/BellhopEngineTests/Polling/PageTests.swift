import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopEngine

@Suite struct PageTests {
    /// A source with one page.
    private struct Board: Source {
        let script: ScriptedSource
        var name: String { "board" }
        var scope: Scope { Scope(instance: "https://acme.example", user: "", kind: "page", query: "board") }
        var schema: TaskSchema { TaskSchema([]) }
        var shows: RecordKind { .page }

        func list(from lastPoll: LastPoll) async throws(Failure) -> Answer { try await script.list(from: lastPoll) }
        func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
            try await script.details(of: keys, in: listing)
        }
    }

    private func page(_ text: String, title: String = "Board") -> Snapshot {
        Snapshot(
            key: "board.do", title: title, type: "Page", className: "page", url: "https://acme.example/board.do",
            fields: ["text": .string(text)])
    }

    @Test func `a page is reported only when its text changes, with the difference`() async throws {
        let bench = try Bench()
        let script = bench.source([page("Ada\nGrace")])
        var poller = Poller(Board(script: script), plan: .minutely, in: bench.context)
        _ = try await poller.pollOnce()
        script.set([page("Ada\nGrace", title: "Another title")])
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines() == [])
        script.set([page("Ada\nEdsger")])
        _ = try await poller.pollOnce()
        _ = try await poller.pollOnce()
        script.set([page("Ada\nGrace")])
        _ = try await poller.pollOnce()
        let events = try await bench.store.events(EventQuery(limit: 10)).map(\.event)
        #expect(events.map(\.type) == [.pageChanged, .pageChanged])
        #expect(Set(events.map(\.id)).count == 2)
        let event = try #require(events.first { $0.data["after"] == "Ada\nEdsger" })
        #expect(event.subject == "https://acme.example/board.do")
        #expect(event.data["page"] == ["url": "https://acme.example/board.do", "title": "Board", "source": "board"])
        #expect(event.data["before"] == "Ada\nGrace")
        #expect(event.data["diff"] == "@@ -1,2 +1,2 @@\n Ada\n-Grace\n+Edsger")
    }

    @Test func `a missing page makes the source fail and causes no page event`() async throws {
        let bench = try Bench()
        let script = bench.source([page("Ada")])
        var poller = Poller(Board(script: script), plan: .minutely, in: bench.context)
        _ = try await poller.pollOnce()
        script.edit { $0.lists = [.failure(Failure(.goneOrHidden, .giveUp, "The page is gone."))] }
        _ = try await poller.pollOnce()
        let types = try await bench.store.events(EventQuery(limit: 10)).map(\.event.type)
        #expect(types == [.sourceFailing])
    }
}
