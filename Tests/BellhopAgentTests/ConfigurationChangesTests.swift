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
        func needs(_ content: [UInt8]?, problem: String?) -> [String] {
            _ = changes.take(content, problem: problem)
            facts.record(changes)
            let status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
            return StatusNeeds.sentences(status, agent: facts.facts(at: ClockReading(clock)), at: clock.now)
        }
        #expect(needs([2], problem: nil) == [StatusNeeds.restartNeeded])
        #expect(needs([3], problem: "no kind") == [StatusNeeds.wrongConfiguration])
        #expect(needs(nil, problem: "There is no bellhop.yaml.") == [StatusNeeds.unreadableConfiguration])
        #expect(needs([1], problem: nil) == [])
    }

    @Test func `a configuration that is missing or unreadable is reported once, as is its return`() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/bellhop.yaml"
        #expect(ConfigurationWatch.read(file).error == "There is no \(file).")
        #expect(ConfigurationWatch.read(folder.path).content == nil)
        var changes = ConfigurationChanges(of: file, running: [1])
        #expect(changes.isNew(nil))
        #expect(names(changes.take(nil, problem: "There is no bellhop.yaml.")) == ["configuration.unreadable"])
        #expect(!changes.isNew(nil))
        #expect(names(changes.take([2], problem: "no kind")) == ["configuration.wrong"])
        #expect(names(changes.take(nil, problem: "Permission denied.")) == ["configuration.unreadable"])
        #expect(names(changes.take([1], problem: nil)) == ["configuration.restored"])
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
