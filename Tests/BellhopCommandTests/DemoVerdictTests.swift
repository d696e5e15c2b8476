import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator
@testable import bellhop

/// The verdict at the end of the demonstration.
@Suite struct DemoVerdictTests {
    private let simulation: Simulation
    private let old: SimulatedTask
    private let fresh: [SimulatedTask]
    private let unowned: SimulatedTask

    /// A morning with an old task, two incidents, a change and an unassigned P1, before Bellhop acts.
    init() async {
        let clock = TestClock(at: Demo.start - .seconds(3600))
        simulation = Simulation { clock.now.microseconds }
        simulation.instance.addUser("john.doe", password: "x", name: "John Doe")
        old = simulation.instance.addTask(title: "Printer", assignedTo: "john.doe")
        await clock.advance(by: .seconds(7200))
        fresh = [
            simulation.instance.addTask(title: "<!channel> ${{ secret.x }}", assignedTo: "john.doe"),
            simulation.instance.addTask(title: "VPN", assignedTo: "john.doe"),
            simulation.instance.addTask("change_request", title: "Certificate", assignedTo: "john.doe"),
            simulation.instance.addTask(title: "Mail", priority: 1),
        ]
        unowned = fresh[3]
    }

    private func chat(_ text: String) {
        let body = Array(BellhopCore.JSON.object(["text": .string(text)]).text.utf8)
        _ = simulation.receivers.answer(
            ReceivedRequest(method: "POST", path: "/hooks/ops", query: "", headers: [], body: body, time: 0))
    }

    private func call(_ task: SimulatedTask) { chat("\(task.number) is a P1 without an owner") }

    private func acknowledge(_ task: SimulatedTask) {
        simulation.instance.addNote("Thanks", .workNotes, on: task.id, by: "john.doe")
    }

    private func alert(_ task: SimulatedTask) {
        chat("New: \(task.number) \(task["short_description"].replacing("<", with: "&lt;").replacing(">", with: "&gt;"))")
    }

    /// The missing items of the verdict after a morning without the given step and with further actions.
    private func bad(without missing: Step? = nil, and more: () -> Void = {}) -> [String] {
        if missing != .digest { chat("2 open tasks") }
        for task in fresh {
            if task.table == "incident", missing != .acknowledgement || task.id != fresh[1].id { acknowledge(task) }
            if missing != .alert || task.id != fresh[1].id { alert(task) }
        }
        if missing != .call { call(unowned) }
        more()
        let verdict = DemoVerdict(simulation)
        let bad = verdict.items.filter { !$0.hasArrived }.map(\.what)
        #expect(verdict.isGood == bad.isEmpty)
        return bad
    }

    private enum Step { case digest, acknowledgement, alert, call }
    private static let notes = "acknowledgements of the new incidents"
    private static let digest = "the digest of 08:30"
    private static let alerts = "alerts in the chat"
    private static let calls = "calls for help with an unowned P1"

    @Test func `a morning is good if everything arrived once`() { #expect(bad() == []) }

    @Test func `a morning without any effect lacks every item`() {
        let verdict = DemoVerdict(simulation)
        #expect(!verdict.isGood)
        #expect(verdict.items.map(\.hasArrived) == [false, false, false, false])
    }

    @Test func `a morning without a digest is bad`() { #expect(bad(without: .digest) == [Self.digest]) }
    @Test func `a morning with two digests is bad`() { #expect(bad { chat("2 open tasks") } == [Self.digest]) }
    @Test func `a missing acknowledgement is bad`() { #expect(bad(without: .acknowledgement) == [Self.notes]) }
    @Test func `a doubled note is bad`() { #expect(bad { acknowledge(fresh[0]) } == [Self.notes]) }
    @Test func `a note on an old task is bad`() { #expect(bad { acknowledge(old) } == [Self.notes]) }
    @Test func `a missing alert is bad`() { #expect(bad(without: .alert) == [Self.alerts]) }
    @Test func `an additional alert is bad`() { #expect(bad { alert(fresh[2]) } == [Self.alerts]) }

    @Test func `a missing call for help is bad`() { #expect(bad(without: .call) == [Self.calls]) }
    @Test func `two calls for help are bad`() { #expect(bad { call(unowned) } == [Self.calls]) }

    @Test func `an alert that the chat refused counts as missing`() {
        simulation.receivers.setAnswer(of: "ops", status: 500)
        #expect(bad() == [Self.digest, Self.alerts, Self.calls])
    }
}
