import BellhopCore
import Testing

@testable import BellhopRules

@Suite struct `The state that a batch reads` {
    private let key = StateKey(rule: "r", kind: .count, key: "k")

    private func event(_ name: String, at seconds: Int64) -> Gathered {
        let run = Candidate(
            rule: 0, occasion: .event(Event.ID(name)), time: Timestamp(seconds: seconds), source: "my-work", subject: "s")
        return Gathered(run, event: seconds, task: "t")
    }

    @Test func `a window that the batch has changed reads as it will be stored`() {
        let old = (1...4).map { event("old\($0)", at: $0) }
        var state: RuleState = [key.at("damaged"): 1]
        for one in old { state[key.at(one.name)] = one.json }
        var memory = RuleMemory(RoutingFacts(state: state, tasks: [:]), at: Fixture.start)
        #expect(memory.gathered(key) == Dictionary(uniqueKeysWithValues: old.map { (key.at($0.name), $0) }))
        let new = event("new", at: 9)
        memory.set(new, in: key)
        memory.delete(key.at(old[0].name))
        memory.set(key.at("other"), to: event("other", at: 10).json)
        state.apply(memory.changes)
        let stored = state.window(key)
        #expect(Set(stored.keys) == Set(([old[1], old[2], old[3], new].map(\.name) + ["other"]).map { key.at($0) }))
        let read = stored.map { ($0, Gathered(name: $0.element, json: $1)!) }
        #expect(memory.gathered(key) == Dictionary(uniqueKeysWithValues: read))
    }

    @Test func `a window that was read before is not read from its rows again, and has the changes of the batch`() {
        let old = (1...3).map { event("old\($0)", at: $0) }
        var state: RuleState = [:]
        for one in old { state[key.at(one.name)] = "it is not read" }
        var facts = RoutingFacts(state: state, tasks: [:])
        facts.gathered[key] = Dictionary(uniqueKeysWithValues: old.map { (key.at($0.name), $0) })
        var memory = RuleMemory(facts, at: Fixture.start)
        let new = event("new", at: 9)
        memory.set(new, in: key)
        memory.delete(key.at(old[0].name))
        #expect(memory.gathered(key) == Dictionary(uniqueKeysWithValues: [old[1], old[2], new].map { (key.at($0.name), $0) }))
    }

    @Test func `names of different bytes that look the same are two pieces of a window`() {
        let (stored, added) = (event("\u{e9}", at: 1), event("e\u{301}", at: 2))
        var memory = RuleMemory(RoutingFacts(state: [key.at(stored.name): stored.json], tasks: [:]), at: Fixture.start)
        memory.set(added, in: key)
        #expect(memory.window(key) == [key.at(stored.name): stored.json, key.at(added.name): added.json])
        #expect(memory.gathered(key).count == 2)
        memory.delete(key.at(added.name))
        #expect(memory.window(key) == [key.at(stored.name): stored.json])
    }
}
