import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Looks after a write whose answer was lost or wrong, for every kind of write.
@Suite(.closing) struct LookupTests {
    let practice = Practice()
    let task: SimulatedTask

    init() { task = practice.instance.addTask(title: "Printer", priority: 3, assignedTo: "john.doe") }

    /// One kind of write: its request, and the address of its look.
    struct Kind: Sendable, CustomTestStringConvertible {
        var action: String
        var arguments: JSON.Object
        var method = "POST"
        var look: String
        var testDescription: String { action }
    }

    static let kinds = [
        Kind(action: "attach", arguments: ["name": "log.txt", "text": "x"], look: "/api/now/attachment"),
        Kind(
            action: "create",
            arguments: ["table": "problem", "fields": ["short_description": "Why?"], "correlation_field": "correlation_id"],
            look: "/api/now/v2/table/problem"),
        Kind(action: "update", arguments: ["fields": ["state": 2]], method: "PATCH", look: "/api/now/v2/table/incident"),
    ]

    @Test(arguments: kinds, WriteFault.refusals)
    func `a write that took effect but was refused is not final while lookups fail, and is found later`(
        _ kind: Kind, _ writeFault: WriteFault
    ) async throws {
        practice.simulation.faults.add(FaultRule(writeFault.fault, method: kind.method, takesEffect: true))
        practice.simulation.faults.add(.badGateway, "GET", path: kind.look, skip: 1, times: 1)
        let delivery = Delivery.write(kind.action, kind.arguments, on: task.id)
        let failure = await practice.failing(delivery, practice.attempt(1))
        #expect(failure?.remedy == .unknownOutcome)
        #expect(failure?.message.contains("The lookup afterwards failed") == true)
        await practice.clock.advance(by: .seconds(5))
        let receipt = try await practice.perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(receipt.summary.contains("by an earlier attempt"))
        #expect(practice.simulation.requests.count(kind.method) == 1)
    }

    @Test(arguments: [Fault.loginPage, .redirectToLogin])
    func `a file upload answered with a login page is held if files cannot be read`(_ fault: Fault) async throws {
        practice.instance.changeUser("john.doe") { $0.attachments = .hidden }
        practice.simulation.faults.add(FaultRule(fault, method: "POST", takesEffect: true))
        let delivery = Delivery.write("attach", Self.kinds[0].arguments, on: task.id)
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .hold)
        #expect(practice.instance.attachments(of: task.id).count == 1)
        #expect(practice.simulation.requests.count("POST") == 1)
    }

    @Test(arguments: kinds) func `a failed login after a write leaves its outcome unknown`(_ kind: Kind) async throws {
        practice.simulation.faults.add(FaultRule(.loginPage, method: kind.method, takesEffect: true))
        practice.simulation.faults.add(.badGateway, "GET", path: "/api/now/v2/table/sys_user", skip: 1, times: 1)
        let delivery = Delivery.write(kind.action, kind.arguments, on: task.id)
        #expect(await practice.failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(5))
        let receipt = try await practice.perform(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(receipt.summary.contains("by an earlier attempt"))
        #expect(practice.simulation.requests.count(kind.method) == 1)
    }
}
