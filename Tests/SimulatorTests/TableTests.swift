import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct TableTests {
    let office = Office()

    private func get(_ path: String) async throws -> Answer { try await office.open { try await $0.get(path) } }

    @Test func `a record has the requested fields, empty ones too`() async throws {
        let task = office.instance.addTask(title: "A", assignedTo: "john.doe")
        let answer = try await get(
            "/api/now/v2/table/task/\(task.id)?sysparm_fields=number,due_date,assigned_to.name&sysparm_exclude_reference_link=true"
        )
        #expect(answer.text == #"{"result":{"number":"INC0010001","due_date":"","assigned_to.name":"John Doe"}}"#)
    }

    @Test(arguments: [
        ("false", false, #"{"link":"https://x/api/now/table/sys_user/ID","value":"ID"}"#, #""2""#, #""""#),
        ("false", true, #""ID""#, #""2""#, #""""#),
        ("true", false, #"{"display_value":"John Doe","link":"https://x/api/now/table/sys_user/ID"}"#, #""2 - High""#, #""""#),
        ("true", true, #""John Doe""#, #""2 - High""#, #""""#),
        (
            "all", false, #"{"display_value":"John Doe","link":"https://x/api/now/table/sys_user/ID","value":"ID"}"#,
            #"{"display_value":"2 - High","value":"2"}"#, #"{"display_value":"","value":""}"#
        ),
        (
            "all", true, #"{"display_value":"John Doe","value":"ID"}"#, #"{"display_value":"2 - High","value":"2"}"#,
            #"{"display_value":"","value":""}"#
        ),
    ])
    func `two parameters determine the shape of a reference`(
        _ display: String, _ excludes: Bool, _ reference: String, _ plain: String, _ empty: String
    ) async throws {
        office.instance.settings.servletURI = "https://x/"
        let task = office.instance.addTask(title: "A", priority: 2, assignedTo: "john.doe")
        let id = try #require(office.instance.user("john.doe")?.id)
        let row = try await get(
            "/api/now/table/task/\(task.id)?sysparm_display_value=\(display)&sysparm_exclude_reference_link=\(excludes)"
        ).result
        #expect(row?["assigned_to"]?.text == reference.replacing("ID", with: id))
        #expect(row?["priority"]?.text == plain)
        #expect(row?["assignment_group"]?.text == empty)
    }

    @Test func `an empty list is 404 in version 1 only`() async throws {
        #expect(try await get("/api/now/v1/table/incident").status == 404)
        #expect(try await get("/api/now/v2/table/incident").text == #"{"result":[]}"#)
        #expect(try await get("/api/now/table/incident").text == #"{"result":[]}"#)
    }

    @Test func `paging counts hidden rows, so a page can be short`() async throws {
        let tasks = (0..<5).map { office.instance.addTask(title: "T\($0)") }
        office.instance.changeUser("john.doe") { $0.hiddenTasks = [tasks[2].id] }
        let answer = try await get("/api/now/table/task?sysparm_query=ORDERBYnumber&sysparm_limit=2&sysparm_offset=2")
        #expect(try answer.result?.asArray?.map { $0["short_description"]?.asString } == ["T3"])
        #expect(answer.header("X-Total-Count") == "5")
        let link = try #require(answer.header("Link"))
        #expect(link.contains(#"sysparm_offset=4>;rel="next""#))
        let first = try await get("/api/now/table/task?sysparm_limit=1")
        #expect(first.header("Link")?.contains(#"sysparm_offset=-1>;rel="prev""#) == true)
    }

    @Test(arguments: [
        "sysparm_query=asigned_to=x", "sysparm_query=number~x", "sysparm_fields=numbr", "sysparm_limt=1", "numbr=INC1",
        "sysparm_query=active=true%5EnumberDYNAMICx", "sysparm_query=opened_at%3Ejavascript:gs.firstDayOfSpring(0)",
        "sysparm_display_value=both", "sysparm_query=caller_id=x",
    ])
    func `an unknown parameter is refused, or ignored if that fault is set`(_ query: String) async throws {
        office.instance.addTask(title: "A")
        #expect(try await get("/api/now/v2/table/task?\(query)").status == 400)
        guard !query.hasPrefix("sysparm_display_value") else { return }
        office.simulation.faults.add(.sloppyQueries)
        let sloppy = try await get("/api/now/v2/table/task?\(query)")
        #expect(sloppy.status == 200)
        #expect(try sloppy.result?.asArray?.count == 1)
    }

    @Test func `the largest value of a column of numbers is found by value`() async throws {
        for count in [10, 9] {
            let task = office.instance.addTask(title: "\(count)")
            for _ in 1...count { office.instance.touchTask(task.id) }
        }
        let answer = try await get("/api/now/v1/stats/task?sysparm_max_fields=sys_mod_count")
        #expect(answer.text == #"{"result":{"stats":{"max":{"sys_mod_count":"10"}}}}"#)
    }

    @Test func `a user can find its own row by name=value and by query`() async throws {
        let answer = try await get("/api/now/v2/table/sys_user?sysparm_fields=name,email&user_name=john.doe")
        #expect(answer.text == #"{"result":[{"name":"John Doe","email":"john.doe@example.com"}]}"#)
        let query = try await get(
            "/api/now/v2/table/sys_user?sysparm_query=sys_id=javascript:gs.getUserID()&sysparm_fields=user_name")
        #expect(query.text == #"{"result":[{"user_name":"john.doe"}]}"#)
        office.instance.changeUser("john.doe") { $0.users = .hidden }
        #expect(try await get("/api/now/v2/table/sys_user?user_name=john.doe").text == #"{"result":[]}"#)
    }

    @Test func `access rules can forbid a table or hide its rows`() async throws {
        let task = office.instance.addTask(title: "A")
        office.instance.changeUser("john.doe") { $0.tasks = .forbidden }
        let forbidden = try await get("/api/now/v2/table/task")
        #expect(forbidden.status == 403)
        #expect(try forbidden.json()["error"]?["message"] == "Insufficient rights to query records")
        office.instance.changeUser("john.doe") { $0.tasks = .hidden }
        #expect(try await get("/api/now/v2/table/task").text == #"{"result":[]}"#)
        #expect(try await get("/api/now/v2/table/task/\(task.id)").status == 404)
    }

    @Test func `an unknown table and an unknown record have different answers`() async throws {
        let table = try await get("/api/now/v2/table/incidnt")
        #expect(table.status == 400)
        #expect(try table.json()["error"]?["message"] == "Invalid table incidnt")
        let record = try await get("/api/now/v2/table/incident/00")
        #expect(record.status == 404)
        #expect(try record.json()["error"]?["message"] == "No Record found")
    }

    @Test func `a comment sent by PATCH is in the journal and reads as empty`() async throws {
        let task = office.instance.addTask(title: "A")
        office.clock.advance(seconds: 5)
        var client = try await office.open()
        let answer = try await client.send(
            .PATCH, "/api/now/v2/table/incident/\(task.id)", body: #"{"comments":"Hello","priority":"1"}"#)
        let query =
            "element_id=\(task.id)%5Eelement=comments%5Esys_created_by=javascript:gs.getUserName()%5EORDERBYDESCsys_created_on"
        let journal = try await client.get("/api/now/v2/table/sys_journal_field?sysparm_query=\(query)&sysparm_limit=5")
        let history = try await client.get("/api/now/v2/table/task/\(task.id)?sysparm_display_value=true&sysparm_fields=comments")
        #expect(answer.status == 200)
        #expect(try answer.result?["comments"] == "")
        #expect(try answer.result?["priority"] == "1")
        #expect(try answer.result?["sys_updated_on"] == "2026-01-05 09:00:05")
        let row = try #require(try journal.result?.asArray?.first)
        #expect(row["value"] == "Hello")
        #expect(row["name"] == "incident")
        #expect(row["sys_created_by"] == "john.doe")
        #expect(try history.result?["comments"] == "2026-01-05 09:00:05 - John Doe (Additional comments)\nHello\n\n")
        #expect(office.instance.journal(of: task.id, .comments).count == 1)
        #expect(office.instance.task(task.id)?.updates == 1)
    }

    @Test func `a write of an unknown column, or without permission, is refused`() async throws {
        let task = office.instance.addTask(title: "A")
        var client = try await office.open()
        let path = "/api/now/v2/table/incident/\(task.id)"
        #expect(try await client.send(.PATCH, path, body: #"{"priorty":"1"}"#).status == 400)
        #expect(try await client.send(.PATCH, path, body: "{").status == 400)
        #expect(try await client.send(.PATCH, path, body: "{}", headers: [("Content-Type", "text/plain")]).status == 415)
        office.instance.changeUser("john.doe") { $0.comments = .refused }
        #expect(try await client.send(.PATCH, path, body: #"{"comments":"x"}"#).status == 403)
        office.instance.changeUser("john.doe") { $0.comments = .ignored }
        #expect(try await client.send(.PATCH, path, body: #"{"comments":"x"}"#).status == 200)
        #expect(office.instance.journal.isEmpty)
        #expect(office.instance.task(task.id)?.updates == 0)
    }

    @Test func `the dictionary has the columns and their types`() async throws {
        let answer = try await get(
            "/api/now/v2/table/sys_dictionary?sysparm_query=name=task%5EelementINpriority,assigned_to%5EORDERBYelement&sysparm_fields=element,internal_type,reference"
        )
        #expect(
            answer.text == """
                {"result":[{"element":"assigned_to","internal_type":"reference","reference":"sys_user"},\
                {"element":"priority","internal_type":"integer","reference":""}]}
                """)
    }
}
