import BellhopTesting
import Simulator
import Testing

@testable import bellhop

@Suite struct SimulateTests {
    @Test func `a practice instance reports its actions and the next one`() {
        let instance = SimulatedInstance(now: { 1_767_603_600_000_000 })
        let task = instance.addTask(title: "Printer on fire")
        let story = SimulateStory(instance: instance, speed: 2)
        let change = ScenarioEvent.changed(task: task.id, set: ["priority": "2"], by: "abel.tuter")
        let lines = [
            story.line(.watched), story.line(.comes(change, in: 9_900_000)), story.line(.happened(change)),
            story.line(.comes(.opened(NewTask(title: "No network", assignedTo: "john.doe")), in: 600_000_000)),
            story.line(.happened(.closed(task: "gone", by: "john.doe"))),
        ]
        #expect(
            lines == [
                "A client has listed the tasks for the first time since its login.",
                "next, in 5 s: abel.tuter sets priority to 2 on INC0010001 (Printer on fire)",
                "now: abel.tuter sets priority to 2 on INC0010001 (Printer on fire)",
                "next, in 5 min: a new incident for john.doe: No network", "now: john.doe closes a deleted task",
            ])
    }

    @Test func `an unknown fault is refused by name before the simulator listens`() async throws {
        let folder = try TemporaryFolder()
        let program = try Program(["simulate", "--port", "0", "--fault", #"{"fault":"nosuch"}"#], in: folder.path)
        let ended = await program.end()
        #expect(ended.code == 64)
        #expect(ended.output.isEmpty)
        #expect(ended.errors.hasPrefix("error: --fault: no fault 'nosuch'; known: too_many_requests, "))
    }

    @Test func `the simulator starts with latency and faults from the command line, and keeps its port from a second one`()
        async throws
    {
        let folder = try TemporaryFolder()
        let program = try Program(
            ["simulate", "--still", "--port", "0", "--latency", "5", "--fault", #"[{"fault":"hangs"},{"fault":"rate_limit"}]"#],
            in: folder.path)
        try await eventually("the address is printed") { program.outputSoFar.hasSuffix("\n") }
        #expect(program.outputSoFar.hasPrefix("http://127.0.0.1:"))
        let address = program.outputSoFar.prefix { $0 != "\n" }
        try await eventually("the last address is printed") { program.errorsSoFar.contains("/webhook/NAME") }
        #expect(program.errorsSoFar.contains("  bellhop init practice --instance \(address) && cd practice\n"))
        #expect(program.errorsSoFar.contains("\(address)/hooks/ops"))
        let port = String(address.split(separator: ":").last ?? "")
        let second = try await Program(["simulate", "--port", port], in: folder.path).end()
        #expect(second.code == 75)
        #expect(second.errors == "error: The port \(port) of 127.0.0.1 cannot be used: choose another with --port.\n")
        program.send(15)
        #expect(await program.end().code == 0)
    }
}
