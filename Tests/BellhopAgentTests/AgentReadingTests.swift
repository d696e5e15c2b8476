import BellhopCore
import BellhopEngine
import BellhopTelemetry
import BellhopTesting
import Testing

@testable import BellhopAgent

@Suite struct `The metrics of receivers` {
    private static let now = TestClock().now

    /// - Parameter seconds: how long it lasts; nil for a pause.
    private static func stop(_ cause: ReceiverStop.Cause, for seconds: Int?) -> ReceiverStop {
        let since = now - .seconds(600)
        return ReceiverStop(
            receiver: "chat", cause: cause, since: since, until: seconds.map { since + .seconds($0) }, reason: "no answer")
    }

    /// What waits since half an hour.
    private static func backlog(_ receiver: String = "chat", _ failure: Failure? = nil) -> StoreStatus.BacklogStatus {
        .init(receiver: receiver, waiting: 1, since: now - .seconds(1800), failure: failure)
    }

    /// The values of an agent with the connection `chat`.
    private func values(
        _ instrument: Instrument, stops: [ReceiverStop] = [], backlog: [StoreStatus.BacklogStatus]
    ) -> [[String]: Double] {
        var reading = AgentReading(now: Self.now, started: Self.now)
        reading.connections = ["chat"]
        var status = StoreStatus(
            sources: [], rules: [], stops: stops.map { .init(stop: $0, waiting: 1) }, deliveries: [:], events: 0, unrouted: 0)
        status.backlog = backlog
        reading.status = status
        let samples = reading.samples.filter { $0.instrument == instrument }
        return Dictionary(uniqueKeysWithValues: samples.map { ($0.labels, $0.value) })
    }

    /// The causes for which `chat` gets no deliveries.
    private func causes(_ stops: [ReceiverStop], _ backlog: [StoreStatus.BacklogStatus]) -> [String] {
        let found = values(.receiverStopped, stops: stops, backlog: backlog)
        #expect(Set(found.keys) == Set(Instrument.stopCauses.map { ["chat", $0] }))
        return found.filter { $0.value == 1 }.map { $0.key[1] }.sorted()
    }

    @Test func `a receiver fails until it answers again, also between two attempts, as long as something waits for it`() {
        let waiting = [Self.backlog()]
        #expect(causes([Self.stop(.failures, for: 700)], waiting) == ["failures"])
        #expect(causes([Self.stop(.failures, for: 5)], waiting) == ["failures"])
        #expect(causes([Self.stop(.failures, for: 0)], waiting) == [], "it has answered")
        #expect(causes([Self.stop(.failures, for: 5)], [Self.backlog("mail")]) == [])
        #expect(causes([Self.stop(.failures, for: 5), Self.stop(.person, for: nil)], waiting) == ["person"])
        #expect(causes([Self.stop(.rest, for: 5)], waiting) == [])
    }

    @Test func `a connection whose login is refused is unusable while something waits for it`() {
        let refusal = Failure(.unauthenticated, .pauseConnection, "It does not accept the password.")
        #expect(causes([], [Self.backlog("chat", refusal)]) == ["unusable"])
        #expect(causes([], [Self.backlog("chat", Failure(.timeout, .retry(after: nil), "It is slow."))]) == [])
        #expect(causes([], []) == [])
    }

    @Test func `each connection has the age of its oldest delivery, and addresses of rules have one together`() {
        func ages(_ backlog: [StoreStatus.BacklogStatus]) -> [[String]: Double] {
            values(.receiverDeliveryAge, backlog: backlog)
        }
        #expect(ages([]) == [["chat"]: 0])
        #expect(ages([Self.backlog()]) == [["chat"]: 1800])
        #expect(ages([Self.backlog("https://hooks.example")]) == [["chat"]: 0, ["other"]: 1800])
    }
}

@Suite struct `The age of a poll` {
    private static func reading(_ seconds: Int, setBackBy hours: Int = 0) -> ClockReading {
        var reading = ClockReading(TestClock())
        reading.now += .seconds(seconds - hours * 3600)
        reading.elapsed += .seconds(seconds)
        return reading
    }

    @Test func `the age of a poll counts on after the clock was set back or forward`() {
        let facts = RuntimeFacts()
        facts.record(.unchanged(source: "s", tasks: 1, took: .zero), at: Self.reading(0))
        for hours in [1, -1] {
            let now = Self.reading(90, setBackBy: hours)
            #expect(facts.polled(at: now) == ["s": now.now - .seconds(90)])
            #expect(facts.facts(at: now)["polled"]?["s"]?.asString == (now.now - .seconds(90)).rfc3339)
        }
        var drifted = Self.reading(90)
        drifted.elapsed += .milliseconds(3)
        #expect(facts.polled(at: drifted) == ["s": Self.reading(0).now], "the time that is shown does not change")
    }

    @Test func `a poll before the start counts, unless the clock was set back since`() throws {
        let now = TestClock().now
        func age(lastSuccess: Timestamp?) throws -> Double {
            var reading = AgentReading(now: now, started: now - .seconds(60))
            reading.sources = ["s"]
            let source = StoreStatus.SourceStatus(
                source: "s", scope: Scope(instance: "i", user: "u", kind: "k"), hasBaseline: true, tasks: 0, lastCommit: nil,
                health: SourceHealth(lastSuccess: lastSuccess))
            reading.status = StoreStatus(sources: [source], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
            return try #require(reading.samples.first { $0.instrument == .sourcePollAge }).value
        }
        #expect(try age(lastSuccess: now - .seconds(300)) == 300)
        #expect(try age(lastSuccess: now + .seconds(3600)) == 60)
        #expect(try age(lastSuccess: nil) == 60)
    }
}
