import Testing

@testable import Simulator

@Suite struct EncodedQueryTests {
    let office = Office()

    init() {
        let instance = office.instance
        instance.addTask("incident", title: "Mail a^b", priority: 1, assignedTo: "john.doe")
        instance.addTask("incident", title: "Printer", priority: 3)
        instance.addTask("sc_task", title: "Laptop", priority: 4, assignedTo: "john.doe")
        instance.addTask("change_request", title: "Switch", priority: 10)
        instance.closeTask(instance.tasks[2].id)
    }

    private func titles(_ query: String) throws -> [String] {
        let user = try #require(office.instance.user("john.doe"))
        let query = try EncodedQuery(query, table: "task", user: user, sloppy: false, at: 0)
        return office.instance.read { state in
            let found = state.world.records(of: "task", keys: query.keys).filter { query.matches($0, in: state.world) }
            return query.sort(found, in: state.world).map { $0["short_description"] }
        }
    }

    @Test(arguments: [
        ("", ["Mail a^b", "Printer", "Laptop", "Switch"]),
        ("active=true", ["Mail a^b", "Printer", "Switch"]),
        ("priority=1^ORpriority=3^active=true", ["Mail a^b", "Printer"]),
        ("active=true^priority=1^ORpriority=4", ["Mail a^b"]),
        ("active=true^priority=1^NQpriority=4", ["Mail a^b", "Laptop"]),
        ("priority<4", ["Mail a^b", "Printer"]),
        ("priority>=4", ["Laptop", "Switch"]),
        ("priority!=3^priority<=4", ["Mail a^b", "Laptop"]),
        ("ORDERBYDESCpriority", ["Switch", "Laptop", "Printer", "Mail a^b"]),
        ("active=true^ORDERBYshort_description", ["Mail a^b", "Printer", "Switch"]),
        ("short_descriptionLIKEa^^b", ["Mail a^b"]),
        ("short_descriptionSTARTSWITHPri^EQ", ["Printer"]),
        ("short_description=LAPTOP", ["Laptop"]),
        ("short_descriptionINprinter,SWITCH", ["Printer", "Switch"]),
        ("short_descriptionENDSWITHtop", ["Laptop"]),
        ("short_descriptionNOT LIKEa^priority>1", ["Printer", "Switch"]),
        ("priorityIN1,10", ["Mail a^b", "Switch"]),
        ("priorityNOT IN1,10", ["Printer", "Laptop"]),
        ("assigned_toISEMPTY", ["Printer", "Switch"]),
        ("assigned_toISNOTEMPTY", ["Mail a^b", "Laptop"]),
        ("assigned_to=javascript:gs.getUserID()^active=true", ["Mail a^b"]),
        ("assigned_to.user_name=javascript:gs.getUserName()", ["Mail a^b", "Laptop"]),
        ("sys_class_name=sc_task", ["Laptop"]),
        ("sys_created_on>=2026-01-05 09:00:00^sys_created_on<2026-01-05 09:00:01^priority=1", ["Mail a^b"]),
    ])
    func `a query returns the matching rows in its order`(_ query: String, _ expected: [String]) throws {
        #expect(try titles(query) == expected)
    }

    @Test(arguments: ["nosuch=1", "priority~1", "^ORpriority=1", "assigned_to.nosuch=1", "priorityIN_HIERARCHYx", "Priority=1"])
    func `an invalid query is refused`(_ query: String) { #expect(throws: QueryProblem.self) { try titles(query) } }

    @Test func `a condition on a list of sys_ids avoids scanning all rows`() throws {
        let user = try #require(office.instance.user("john.doe"))
        let ids = office.instance.tasks.prefix(2).map(\.id)
        let query = try EncodedQuery("sys_idIN\(ids.joined(separator: ","))", table: "task", user: user, sloppy: false, at: 0)
        #expect(query.keys["sys_id"] == Set(ids))
        #expect(office.instance.read { $0.world.records(of: "task", keys: query.keys).count } == 2)
    }
}
