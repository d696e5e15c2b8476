import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopTesting
import Testing

@testable import BellhopStore

@Suite struct CommentTests {
    private func comment(
        _ text: String, on task: String = "a", id: String = "j1", at time: Timestamp, byUs: Bool = false
    ) -> TaskComment {
        TaskComment(
            id: id, task: TaskKey(task), text: text, author: byUs ? "john.doe" : "abel.tuter", kind: "comments", time: time,
            authorship: byUs ? .ours : .others)
    }

    private func commented(_ bench: Bench) async throws -> [Event] {
        try await bench.store.events(EventQuery(types: [.taskCommented], limit: 1000)).map(\.event)
    }

    @Test func `a comment is reported once, with its current task, and only for known tasks`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a")])
        source.put(task("a", "on fire"))
        source.edit { $0.comments = [comment("It smokes.", at: bench.now), comment("lost", on: "z", id: "j2", at: bench.now)] }
        for _ in 0..<3 { _ = try await poller.pollOnce() }
        let events = try await commented(bench)
        #expect(events.count == 1)
        #expect(events.first?.task?.title == "on fire")
        #expect(events.first?.data["comment"]?["text"] == "It smokes.")
        #expect(events.first?.data["comment"]?["own"] == false)
        #expect(events.first?.hop == 0)
        #expect(
            try await bench.eventLines().filter { !$0.hasPrefix("source") }.map { String($0.prefix(14)) } == [
                "task_changed a", "task_commented",
            ])
    }

    @Test func `a person's comment in the same poll as one of ours has hop 0`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a")])
        await bench.clock.advance(by: .seconds(60))
        try await bench.comment(on: "a", hop: 2)
        source.edit {
            $0.comments = [
                comment("hello", id: "j1", at: bench.now, byUs: true), comment("I am on it.", id: "j2", at: bench.now),
            ]
        }
        _ = try await poller.pollOnce()
        #expect(try await commented(bench).map(\.hop) == [3, 0])
    }

    @Test func `comments on a task that left are reported before its removal`() async throws {
        var (bench, source, poller) = try await Bench.polled([task("a"), task("b")])
        source.remove("a", because: .closed)
        source.edit { $0.comments = [comment("Solved.", at: bench.now)] }
        _ = try await poller.pollOnce()
        #expect(try await bench.eventLines().map { String($0.prefix(14)) } == ["task_commented", "task_removed a"])
    }

    @Test func `a rule that answers every comment, its own included, stops after a few hops`() async throws {
        let (bench, source) = try Bench.with([task("a")])
        let shelf = try await bench.shelf(
            """
            rule: echo
            on: task_commented
            do:
              - comment: "Heard: ${{ comment.text }}"
            """, sources: [source])
        let action = ScriptedAction()
        let router = Router(bench.context, shelf: shelf)
        let dispatcher = Dispatcher(bench.context, actions: { _ in action })
        var poller = try await bench.polled(source)
        source.edit { $0.comments = [comment("Hello", at: bench.now)] }
        var seen = 0
        for turn in 0..<12 {
            await bench.clock.advance(by: .seconds(60))
            _ = try await poller.pollOnce()
            _ = try await router.routePending()
            _ = try await dispatcher.dispatchPending()
            let done = try await bench.deliveries()
            guard done.count > seen, case .values(let arguments)? = done.last?.delivery.arguments else { continue }
            seen = done.count
            let text = arguments["text"]?.asString ?? ""
            source.edit { $0.comments = [comment(text, id: "own\(turn)", at: bench.now, byUs: true)] }
        }
        let events = try await commented(bench)
        #expect(events.first?.data["comment"]?["own"] == false)
        #expect(events.dropFirst().allSatisfy { $0.data["comment"]?["own"] == true })
        #expect(events.map(\.hop) == Array(0..<events.count))
        #expect((2...6).contains(events.count))
    }

    @Test func `comments from our account are recognized as ours, however the instance changed their text`() async throws {
        let now = Timestamp.epoch
        let sent = "Call <b>0049 30 1234567</b> -- it's \"urgent\"."
        let known = WrittenComment(reference: "j1", text: sent, hop: 0, marker: "ref 3f2a9c")
        for kept in [
            "Call 0049 30 1234567 -- it's \"urgent\".", "Call <b>**** ** *******</b> -- it's \"urgent\".",
            "Call <b>0049 30 1234567</b> — it’s “urgent”.", "[removed]\n\nref 3f2a9c",
        ] { #expect(known.match(comment(kept, id: "j2", at: now, byUs: true)) != nil) }
        // As long as our entry is not identified, every comment from our account may be ours.
        let unknown = WrittenComment(reference: nil, text: sent, hop: 0)
        #expect(unknown.match(comment("[removed]", id: "j2", at: now, byUs: true)) != nil)
        #expect(known.match(comment("[removed]", id: "j2", at: now, byUs: true)) == nil)
        #expect(unknown.match(comment("[removed]", id: "j2", at: now)) == nil)
    }

    @Test func `a text that may be a part of our own comment counts as ours`() async throws {
        var piece = comment("Please close it.", id: "j2", at: .epoch)
        (piece.authorship, piece.isProved, piece.author) = (.unknown, false, "")
        let written = WrittenComment(reference: nil, text: "Somebody says:\n\n1 - x (y)\nPlease close it.", hop: 0)
        #expect(written.match(piece) != nil)
        piece.text = "Please open it."
        #expect(written.match(piece) == nil)
    }

    @Test func `a comment by another author is never ours, whatever its text`() async throws {
        let written = WrittenComment(reference: "j1", text: "Heard.", hop: 0)
        let now = Timestamp.epoch
        #expect(written.match(comment("Another text", id: "j1", at: now, byUs: true)) != nil)
        #expect(written.match(comment("Heard .", id: "j2", at: now, byUs: true)) != nil)
        #expect(written.match(comment("Heard.", id: "j1", at: now)) == nil)
        #expect(written.match(comment("Unheard.", id: "j2", at: now, byUs: true)) == nil)
    }
}
