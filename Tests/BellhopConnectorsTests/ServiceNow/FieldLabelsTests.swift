import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Labels and names in place of the values that the instance stores.
@Suite(.closing) struct FieldLabelsTests {
    let practice = Practice()
    let task: SimulatedTask
    var instance: SimulatedInstance { practice.instance }
    var now: SimulatedTask { get throws { try #require(instance.task(task.id)) } }

    init() { task = practice.instance.addTask(title: "Printer", priority: 3, assignedTo: "john.doe") }

    private func update(_ fields: JSON.Object) -> Delivery {
        .write("update", ["fields": .object(fields)], on: task.id, class: "incident")
    }

    private func source(_ conditions: JSON.Object) throws -> TableSource {
        let values: JSON.Object = ["table": "incident", "where": .object(conditions)]
        let connection = try practice.connection(over: InProcessExchange(practice.simulation))
        return try TableSource(name: "incidents", settings: Settings(values), connection: connection)
    }

    // MARK: Writing

    @Test func `an update accepts labels of choices and names of records`() async throws {
        let fields: JSON.Object = [
            "priority": "High", "assigned_to": "Abel Tuter", "urgency": "1 - high", "state": "In Progress",
        ]
        _ = try await practice.perform(update(fields), practice.attempt(1))
        let now = try now
        #expect(now["priority"] == "2" && now["urgency"] == "1" && now["state"] == "2")
        #expect(now.assignedTo == instance.user("abel.tuter")?.id)
        let again = try await practice.perform(update(fields), practice.attempt(1))
        #expect(again.summary == "the fields already had these values")
    }

    @Test func `a label that an inactive choice has too stands for the active one, and the inactive one has its value`()
        async throws
    {
        let session = try practice.connection(over: InProcessExchange(practice.simulation)).reading
        for (text, value) in [("2 - High", "2"), ("old-high", "old-high")] {
            #expect(try await FieldLabels(at: "acme").value(of: text, in: "priority", of: "incident", session) == value)
        }
    }

    @Test func `a choice that was added after the choices were read is found`() async throws {
        let (asked, base) = (Recording<HTTPRequest>(), InProcessExchange(practice.simulation))
        let earlier = GivenExchange { request async throws(TransportError) in
            let target = request.address.target
            guard target.contains("sys_choice"), target.contains("element%3Dpriority"), asked.add(request) == 1 else {
                return try await base.send(request)
            }
            let rows = ["incident", "task"].map { #"{"name": "\#($0)", "value": "1", "label": "Urgent"}"# }
            return .json(200, [:], #"{"result": [\#(rows.joined(separator: ", "))]}"#)
        }
        let session = try practice.connection(over: earlier).reading
        let labels = FieldLabels(at: "acme")
        for _ in 1...2 {
            let failure = await failure { _ = try await labels.value(of: "High", in: "priority", of: "incident", session) }
            #expect(failure?.message.contains("use 1 (Urgent)") == true, "\(failure?.message ?? "none")")
        }
        await practice.clock.advance(by: .seconds(61))
        #expect(try await labels.value(of: "High", in: "priority", of: "incident", session) == "2")
    }

    @Test func `a new record can be given labels and names`() async throws {
        let network = instance.group("Network")
        let arguments: JSON.Object = [
            "table": "problem", "correlation_field": "correlation_id", "display": false,
            "fields": ["short_description": "Why?", "priority": "Critical", "assignment_group": "Network"],
        ]
        _ = try await practice.perform(.write("create", arguments, on: task.id), practice.attempt(1))
        let made = try #require(instance.tasks.last)
        #expect(made["priority"] == "1" && made["assignment_group"] == network)
    }

    @Test func `an unknown label or name is reported with the known ones, and nothing is written`() async throws {
        _ = instance.group("Network Operations")
        let wrong: [(JSON.Object, String)] = [
            (["priority": "Hihg"], "`priority` cannot be 'Hihg' on"),
            (["priority": "Hihg"], "use 1 (1 - Critical), 2 (2 - High)"),
            (["assignment_group": "Network"], "no record of sys_user_group has this name; similar names: Network Operations"),
            (["assigned_to": "Nobody"], "no record of sys_user has this name"),
        ]
        for (fields, message) in wrong {
            let failure = await failure { _ = try await practice.perform(update(fields), practice.attempt(1)) }
            #expect(failure?.reason == .badArguments && failure?.remedy == .giveUp)
            #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "none")")
        }
        #expect(practice.simulation.requests.count("PATCH") == 0)
    }

    @Test func `an ambiguous display name is refused, and the user name resolves it`() async throws {
        instance.addUser("abel.other", password: "x", name: "Abel Tuter")
        let failure = await failure {
            _ = try await practice.perform(update(["assigned_to": "Abel Tuter"]), practice.attempt(1))
        }
        #expect(failure?.message.contains("more than one record of sys_user has this name") == true)
        #expect(failure?.message.contains(instance.user("abel.other")?.id ?? "?") == true)
        _ = try await practice.perform(update(["assigned_to": "abel.other"]), practice.attempt(1))
        #expect(try now.assignedTo == instance.user("abel.other")?.id)
    }

    @Test(arguments: [SimulatedUser.Reading.hidden, .forbidden])
    func `without the dictionary, people are found and labels are unknown`(_ access: SimulatedUser.Reading) async throws {
        instance.changeUser("john.doe") { $0.dictionary = access }
        _ = try await practice.perform(update(["assigned_to": "Abel Tuter"]), practice.attempt(1))
        #expect(try now.assignedTo == instance.user("abel.tuter")?.id)
        let failure = await failure { _ = try await practice.perform(update(["priority": "High"]), practice.attempt(1)) }
        #expect(failure?.message.contains("write the number") == true)
    }

    @Test func `labels are known a minute after the account was given the right to read the dictionary`() async throws {
        let session = try practice.connection(over: InProcessExchange(practice.simulation)).reading
        let labels = FieldLabels(at: "acme")
        instance.changeUser("john.doe") { $0.dictionary = .forbidden }
        let failure = await failure { _ = try await labels.value(of: "High", in: "priority", of: "incident", session) }
        #expect(failure?.message.contains("write the number") == true)
        instance.changeUser("john.doe") { $0.dictionary = .allowed }
        await practice.clock.advance(by: .seconds(61))
        #expect(try await labels.value(of: "High", in: "priority", of: "incident", session) == "2")
    }

    // MARK: Queries

    @Test func `where translates names and labels to values, with one request`() async throws {
        let mine = instance.addTask(title: "A", priority: 2, fields: ["assignment_group": instance.group("Network")])
        instance.addTask(title: "B", priority: 2, fields: ["assignment_group": instance.group("Desk")])
        let source = try source(["assignment_group": "Network", "priority": ["High", 1]])
        for _ in 0..<3 {
            let answer = try await source.list(from: LastPoll())
            #expect(answer.listing.entries.map(\.key.text) == [mine.id])
        }
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/sys_user_group") == 1)
        #expect(practice.simulation.requests.count("GET", path: "/api/now/v2/table/sys_choice") <= 2)
    }

    @Test func `an unknown name in where is an error, not an empty list`() async throws {
        let failure = await failure { _ = try await source(["assignment_group": "Netwrok"]).list(from: LastPoll()) }
        #expect(failure?.reason == .badArguments && failure?.remedy == .giveUp)
        #expect(failure?.message.hasPrefix("`where` of source incidents: `assignment_group` cannot be 'Netwrok'") == true)
    }

    @Test func `the dictionary is read once for each field, also for those of referenced records`() async throws {
        let connection = try practice.connection(over: InProcessExchange(practice.simulation))
        /// How often a new source reads the dictionary for its first list.
        func reads(_ conditions: JSON) async throws -> Int {
            practice.simulation.requests.clear()
            let settings = Settings(["table": "incident", "where": conditions])
            _ = try? await TableSource(name: "incidents", settings: settings, connection: connection).list(from: LastPoll())
            return practice.simulation.requests.count("GET", path: "/api/now/v2/table/sys_dictionary")
        }
        func labelled(_ label: JSON) -> JSON { ["parent.priority": label, "parent.urgency": "1 - High", "priority": label] }
        let first = try await reads(labelled("High"))
        // Its values are known now: the source reads only what it needs itself.
        let own = try await reads(labelled("High"))
        #expect(first > own)
        for label in ["Low", "Moderate", "Critical"] as [JSON] { #expect(try await reads(labelled(label)) == own) }
    }

    @Test func `a name in a field of a referenced record is found too`() async throws {
        let other = instance.addTask(title: "A", fields: ["parent": task.id])
        let source = try source(["parent.assigned_to": "John Doe"])
        let answer = try await source.list(from: LastPoll())
        #expect(answer.listing.entries.map(\.key.text) == [other.id])
    }
}
