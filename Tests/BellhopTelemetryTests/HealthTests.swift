import BellhopCore
import BellhopTelemetry
import Testing

@Suite struct `The health of an agent` {
    @Test func `an agent is ready when its store, its rules and its polls are`() {
        var facts = HealthFacts()
        facts.sources = [.init(name: "b", wasPolled: true, failures: 0)]
        #expect(Health(facts).isLive && Health(facts).isReady && Health(facts).reasons == [])
        facts.sources.append(.init(name: "a", wasPolled: false, failures: 0))
        #expect(Health(facts).isLive && !Health(facts).isReady)
        #expect(Health(facts).reasons.map(\.code) == [.sourceNotPolled])
        #expect(
            Health(facts).json == [
                "live": true, "ready": false,
                "reasons": [
                    ["code": "source_not_polled", "text": "The source a has not been polled since the start.", "blocks": "ready"]
                ],
            ])
        facts.sources[1].wasPolled = true
        #expect(Health(facts).isReady)
        facts.hasRules = false
        #expect(!Health(facts).isReady && Health(facts).isLive)
        facts.hasRules = true
        facts.storeFails = true
        #expect(!Health(facts).isReady && Health(facts).isLive)
    }

    @Test func `failing sources, refused rules, paused receivers and paused rules are reported, but the agent stays ready`() {
        var facts = HealthFacts()
        facts.sources = [.init(name: "a", wasPolled: false, failures: 3), .init(name: "b", wasPolled: true, failures: 1)]
        facts.refusedRules = 2
        facts.pausedReceivers = ["ops"]
        facts.pausedRules = ["tell"]
        #expect(Health(facts).isLive && Health(facts).isReady)
        #expect(Health(facts).reasons.map(\.code) == [.sourceFails, .sourceFails, .rulesRefused, .receiverPaused, .rulePaused])
    }

    @Test func `an agent with a hanging loop is neither alive nor ready`() {
        var facts = HealthFacts()
        facts.hangingLoops = ["router"]
        #expect(!Health(facts).isLive && !Health(facts).isReady)
    }
}
