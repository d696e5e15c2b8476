import BellhopEngine
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
