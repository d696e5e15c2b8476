import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Messages of a source of kind `table` whose account lacks access.
@Suite(.closing) struct TableRightsTests {
    private let practice = Practice()

    private func list() async throws -> Answer {
        try await Self.incidents(practice.open()).list(from: LastPoll())
    }

    private static func incidents(_ connection: ServiceNowConnection) throws -> TableSource {
        try TableSource(
            name: "incidents", settings: Settings(["table": "incident", "where": ["active": true, "priority": 1]]),
            connection: connection)
    }

    @Test func `an account without access to a table gets a message with the table and a remedy`() async throws {
        practice.instance.addTask(title: "Core switch down", priority: 1)
        practice.instance.changeUser("john.doe") { $0.tasks = .forbidden }
        let failure = await failure { _ = try await list() }
        #expect(failure?.reason == .forbidden)
        let message = try #require(failure?.message)
        #expect(message.contains("(403)") && message.contains("may not read the table incident"), "\(message)")
        #expect(message.contains("itil or snc_read_only"), "\(message)")
    }

    @Test func `if access rules hide all rows, the first poll fails with a message that names them`() async throws {
        practice.instance.addTask(title: "Core switch down", priority: 1)
        practice.instance.changeUser("john.doe") { $0.tasks = .hidden }
        let failure = await failure { _ = try await list() }
        #expect(failure?.reason == .badAnswer && failure?.remedy == .retry(after: nil))
        #expect(failure?.message.contains("access rules hide them from the account") == true)
    }

    @Test func `a condition that the server ignores because its field is hidden is reported, and no row accepted`() async throws {
        practice.instance.addTask(title: "A lamp flickers", priority: 4)
        practice.instance.changeUser("john.doe") { $0.omittedFields = ["priority"] }
        let failure = await failure { _ = try await list() }
        #expect(failure?.reason == .badArguments)
        let message = try #require(failure?.message)
        #expect(message.contains("do not show the field `priority`") && message.contains("the server ignores"), "\(message)")
        practice.instance.changeUser("john.doe") { $0.omittedFields = ["category"] }
        #expect(try await list().listing.entries.isEmpty)
    }

    @Test func `while the server ignores a condition, a poll does not read the table`() async throws {
        practice.instance.addTask(title: "A lamp flickers", priority: 4)
        practice.instance.changeUser("john.doe") { $0.omittedFields = ["priority"] }
        let connection = try await practice.open()
        let source = try Self.incidents(connection)
        let first = await failure { _ = try await source.list(from: LastPoll()) }
        let requests = practice.simulation.requests.total
        let second = await failure { _ = try await source.list(from: LastPoll()) }
        #expect(first?.reason == .badArguments && second == first)
        #expect(practice.simulation.requests.total == requests + 1)
        practice.instance.changeUser("john.doe") { $0.omittedFields = [] }
        #expect(try await source.list(from: LastPoll()).listing.entries.isEmpty)
    }

    @Test func `a field whose column the dictionary hides from the account is read nevertheless`() async throws {
        let task = practice.instance.addTask(title: "Core switch down", fields: ["category": "network"])
        practice.instance.addTask(title: "A lamp flickers", fields: ["category": "hardware"])
        practice.instance.changeUser("john.doe") { $0.hiddenColumns = ["category"] }
        let connection = try await practice.open()
        let settings: JSON.Object = ["table": "incident", "query": "category=network", "fields": ["number", "category"]]
        let source = try TableSource(name: "incidents", settings: Settings(settings), connection: connection)
        let listing = try await source.list(from: LastPoll()).listing
        #expect(listing.entries.map(\.key.text) == [task.id])
        let details = try await source.details(of: [TaskKey(task.id)], in: listing)
        #expect(details.snapshots[TaskKey(task.id)]?.fields["category"] == "network")
    }

    @Test func `a table source lists an incident without an owner`() async throws {
        let task = practice.instance.addTask(title: "Core switch down", priority: 1)
        practice.instance.addTask(title: "A lamp flickers", priority: 4)
        #expect(try await list().listing.entries.map(\.key.text) == [task.id])
    }
}
