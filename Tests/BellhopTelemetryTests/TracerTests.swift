import BellhopCore
import BellhopTelemetry
import Testing

@Suite struct TracerTests {
    private let now = Timestamp(seconds: 1_767_603_600)

    private func event(_ number: Int) -> Event {
        let task = Snapshot(key: TaskKey("k\(number)"), number: "INC\(number)", title: "T", url: "", fields: [:])
        return Event(.taskCreated(task, in: "s"), facts: "\(number)", source: "s", subject: "s/k\(number)", at: now)
    }

    /// - Parameter attempt: the number among all attempts. For the retry policy each is the first, as after a rest.
    private func claim(_ event: Event, attempt: Int64 = 1) -> Claim {
        let delivery = Delivery(
            id: Delivery.ID(occasion: Occasion.event(event.id).id, rule: "r", step: StepPath("0"), receiver: "ops"),
            revision: "1",
            action: "webhook", arguments: .values([:]), task: nil, lane: "ops", createdAt: now, initial: .available)
        return Claim(
            delivery: delivery, lease: Lease(token: attempt, until: now + .seconds(300), row: 1, name: delivery.id.text),
            attempt: Attempt(number: 1, now: now))
    }

    @Test func `the spans of an event, its routing and its deliveries are one trace with one root`() {
        let tracer = Tracer(TraceSampling(1))
        let event = event(1)
        tracer.stored(event, by: "poll", from: now, to: now + .seconds(1), moments: [.init("listed", now)])
        tracer.routed([event.id], deliveries: [event.id: 2], from: now, to: now + .seconds(2))
        for attempt in Int64(1)...2 {
            let claim = claim(event, attempt: attempt)
            let outcome: RetryPolicy.Next =
                attempt == 1
                ? .retry(at: now, Failure(.unreachable, .retry(after: nil), "Nobody answers.")) : .done(Receipt("200"))
            tracer.attempted(claim, in: tracer.context(of: claim), answered: now, stored: now + .seconds(3), outcome: outcome)
        }
        let spans = tracer.take(most: 100).spans
        #expect(spans.map(\.name) == ["poll", "route", "deliver webhook", "deliver webhook"])
        #expect(Set(spans.map(\.trace)) == [TraceID(of: event.id)])
        #expect(spans[0].parent == nil && spans.dropFirst().allSatisfy { $0.parent == spans[0].id })
        #expect(Set(spans.map(\.id)).count == 4)
        #expect(spans.map(\.failure) == [nil, nil, "Nobody answers.", nil])
        #expect(spans[2].attributes["error.type"] == "unreachable" && spans[2].attributes["bellhop.outcome"] == "retry")
        #expect(spans[2...].map { $0.attributes["bellhop.attempt"] } == [1, 2])
        #expect(spans[3].id.text == tracer.context(of: claim(event, attempt: 2)).traceparent.split(separator: "-")[2])
    }

    @Test func `about the configured share of traces is sent, each trace whole or not at all`() {
        for part in [0, 0.1, 0.5, 1] {
            let tracer = Tracer(TraceSampling(part), capacity: 20_000)
            for number in 0..<4000 {
                let event = event(number)
                tracer.stored(event, by: "poll", from: now, to: now)
                tracer.routed([event.id], deliveries: [:], from: now, to: now)
                let claim = claim(event)
                tracer.attempted(claim, in: tracer.context(of: claim), answered: now, stored: now, outcome: .done(Receipt("")))
            }
            let spans = tracer.take(most: .max).spans
            let traces = Dictionary(grouping: spans, by: \.trace)
            #expect(traces.values.allSatisfy { $0.count == 3 })
            #expect(abs(Double(traces.count) - part * 4000) < 150, "\(part): \(traces.count)")
        }
    }

    @Test func `a full tracer drops new spans and counts them`() {
        let tracer = Tracer(TraceSampling(1), capacity: 3)
        for number in 0..<5 { tracer.stored(event(number), by: "poll", from: now, to: now) }
        let (spans, dropped) = tracer.take(most: 2)
        #expect(spans.map(\.trace) == [0, 1].map { TraceID(of: event($0).id) } && dropped == 2)
        #expect(tracer.take(most: 2).spans.count == 1)
        #expect(tracer.take(most: 2).dropped == 0)
    }

    @Test func `an id of another form makes a separate trace, and traceparent has the form of the specification`() {
        let (first, second) = (TraceID(of: Event.ID("a")), TraceID(of: Event.ID("b")))
        #expect(first != second && first == TraceID(of: Event.ID("a")))
        #expect(TraceID(digits: String(repeating: "0", count: 32)) == nil && TraceID(digits: "ABC") == nil)
        let context = TraceContext(TraceID(high: 1, low: 2), SpanID("x"), isSampled: true)
        #expect(context.traceparent.hasPrefix("00-00000000000000010000000000000002-") && context.traceparent.hasSuffix("-01"))
        #expect(context.traceparent.utf8.count == 55)
    }
}
