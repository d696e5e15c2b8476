import BellhopCore
import Testing

/// The comments that our deliveries wrote, or may have written: they distinguish our journal entries from those of others.
@Suite struct `Comments of our own` {
    private func comment(_ number: Int, _ receiver: String = "chat", action: String = "comment", hop: Int = 0) -> Delivery {
        Sample.delivery(number, lane: "\(number) \(receiver)", receiver: receiver, action: action, hop: hop)
    }

    @Test(arguments: Benches())
    func `our comments are listed by task with text, entry and hop`(_ bench: Bench) async throws {
        try await bench.enqueue([
            comment(1, hop: 1), comment(1, "again", hop: 2), comment(2), comment(3, action: "update"), comment(4),
        ])
        for (number, claim) in try await bench.claim(4).enumerated() {
            try await bench.finish(claim, .done(Receipt("201", reference: number == 1 ? nil : "entry \(number)")))
        }
        let subjects = [1, 2, 3, 4, 9].map(Sample.subject)
        let comments = try await bench.store.comments(on: subjects, since: bench.now)
        #expect(
            comments == [
                Sample.subject(1): [
                    WrittenComment(reference: "entry 0", text: "number 1", hop: 1, marker: comment(1).id.marker),
                    WrittenComment(reference: nil, text: "number 1", hop: 2, marker: comment(1, "again").id.marker),
                ],
                Sample.subject(2): [WrittenComment(reference: "entry 2", text: "number 2", hop: 0, marker: comment(2).id.marker)],
            ])
        #expect(try await bench.store.comments(on: [], since: bench.now) == [:])
    }

    @Test(arguments: Benches())
    func `a comment in flight or possibly written is listed, and one certainly not written is not`(_ bench: Bench) async throws {
        try await bench.enqueue((1...6).map { comment($0) })
        let claims = try await bench.claim(5)
        try await bench.finish(claims[0], .retry(at: bench.after(60), Sample.failure), uncertain: true)
        try await bench.finish(claims[1], .retry(at: bench.after(60), Sample.failure))
        try await bench.finish(claims[2], .dead(Sample.failure))
        try await bench.finish(claims[3], .held(Sample.failure), uncertain: true)
        // The fifth is running, the sixth is waiting.
        let comments = try await bench.store.comments(on: (1...6).map(Sample.subject), since: bench.now)
        #expect(Set(comments.keys) == Set([1, 4, 5].map(Sample.subject)))
    }

    @Test(arguments: Benches())
    func `a comment that ended before the given moment is not listed`(_ bench: Bench) async throws {
        try await bench.enqueue([comment(1), comment(2), comment(3)])
        let claims = try await bench.claim()
        try await bench.finish(claims[0], .done(Sample.receipt))
        try await bench.finish(claims[1], .retry(at: bench.after(60), Sample.failure), uncertain: true)
        let subjects = (1...3).map(Sample.subject)
        // One that ended at that moment is listed.
        #expect(try await bench.store.comments(on: subjects, since: bench.now).count == 3)
        #expect(Array(try await bench.store.comments(on: subjects, since: bench.after(1)).keys) == [Sample.subject(3)])
    }
}
