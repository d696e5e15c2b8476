import BellhopCore
import BellhopEngine
import BellhopTesting
import Testing

@testable import BellhopAgent

@Suite struct `Changes of bellhop.yaml` {
    private func names(_ signals: [Signal]) -> [String] { signals.map(\.name) }

    @Test func `a mistake and its repair are each reported once, and only a good change needs a restart`() {
        var changes = ConfigurationChanges(of: "bellhop.yaml", running: [1])
        #expect(!changes.isNew([1]))
        #expect(names(changes.take([2], problem: "no kind")) == ["configuration.wrong"])
        #expect(names(changes.take([3], problem: "no name")) == [])
        #expect(names(changes.take([1], problem: nil)) == ["configuration.restored"])
        #expect(names(changes.take([4], problem: nil)) == ["configuration.changed"])
        #expect(names(changes.take([5], problem: "no kind")) == ["configuration.wrong"])
        #expect(names(changes.take([4], problem: nil)) == ["configuration.restored", "configuration.changed"])
    }

    @Test func `a changed configuration with mistakes needs a person, and no restart before they are repaired`() {
        var changes = ConfigurationChanges(of: "bellhop.yaml", running: [1])
        let (facts, clock) = (RuntimeFacts(), TestClock())
        func needs(_ content: [UInt8], problem: String?) -> [String] {
            _ = changes.take(content, problem: problem)
            facts.record(needsRestart: changes.needsRestart, hasMistakes: changes.hasMistakes)
            let status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
            return StatusNeeds.sentences(status, agent: facts.facts(at: ClockReading(clock)), at: clock.now)
        }
        #expect(needs([2], problem: nil) == [StatusNeeds.restartNeeded])
        #expect(needs([3], problem: "no kind") == [StatusNeeds.wrongConfiguration])
        #expect(needs([1], problem: nil) == [])
    }

    @Test func `a change that was undone needs no restart`() {
        var changes = ConfigurationChanges(of: "bellhop.yaml", running: [1])
        _ = changes.take([2], problem: nil)
        #expect(changes.needsRestart)
        _ = changes.take([3], problem: "no kind")
        #expect(changes.needsRestart)
        #expect(names(changes.take([1], problem: nil)) == ["configuration.restored"])
        #expect(!changes.needsRestart)
    }
}
