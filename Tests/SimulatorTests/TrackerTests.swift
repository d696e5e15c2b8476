import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct TrackerTests {
    let office = Office()

    @Test func `the result without tasks is an empty object`() async throws {
        let answer = try await office.open { client in try await client.list() }
        #expect(answer.status == 200)
        #expect(answer.text == #"{"result":{}}"#)
    }

    @Test func `tasks are grouped by label and ordered by creation, with raw spaces in the links`() async throws {
        var settings = InstanceSettings()
        settings.servletURI = "https://acme.service-now.com/"
        let office = Office(settings: settings)
        let instance = office.instance
        instance.addTask("sc_task", title: "Laptop", assignedTo: "john.doe", fields: ["sys_id": "x"])
        instance.addTask(NewTask(title: "Late", assignedTo: "john.doe", sysID: "b2"))
        instance.addTask(
            NewTask(title: "Early", assignedTo: "john.doe", sysID: "a1", fields: ["sys_created_on": "2026-01-01 00:00:00"]))
        instance.addTask(title: "Nobody's")
        instance.closeTask(instance.addTask(title: "Closed", assignedTo: "john.doe").id)
        let result = try await office.open { client in try await client.list().result }
        #expect(result?.asObject?.keys == ["Incident", "Catalog Task"])
        #expect(
            result?["Incident"]?.asArray?.first?.text == """
                {"number":"INC0010002","short_desc":"Early","sys_id":"a1",\
                "link":"https://acme.service-now.com/api/now/v2/table/Incident/a1",\
                "snowui":"https://acme.service-now.com/Incident.do?sys_id=a1","created":"2026-01-01 00:00:00"}
                """)
        #expect(result?["Incident"]?.asArray?.map { $0["short_desc"]?.asString } == ["Early", "Late"])
        let laptop = result?["Catalog Task"]?.asArray?.first
        #expect(laptop?["snowui"]?.asString?.hasPrefix("https://acme.service-now.com/Catalog Task.do?sys_id=") == true)
    }

    @Test func `empty and hidden columns are null`() async throws {
        office.instance.addTask(title: "", assignedTo: "john.doe")
        office.instance.changeUser("john.doe") { $0.hiddenFields = ["number"] }
        let row = try await office.open { client in try await client.list().result?["Incident"]?.asArray?.first }
        #expect(row?["short_desc"] == .null)
        #expect(row?["number"] == .null)
        #expect(row?["created"] == "2026-01-05 09:00:00")
    }

    @Test func `labels follow the user's language`() async throws {
        office.instance.addTask(title: "A", assignedTo: "john.doe")
        var client = try await office.open()
        _ = try await client.list()
        office.instance.setLanguage(.german)
        let names = try await client.list().result?.asObject?.keys
        #expect(names == ["Störung"])
    }

    @Test(arguments: ["/api/x_snc_my_work/tracker/task", "/api/x_snc_my_work/v2/tracker/task", "/api/nothing"])
    func `only version 1 of the tracker exists`(_ path: String) async throws {
        let answer = try await office.open { client in try await client.get(path) }
        #expect(answer.status == 400)
        #expect(
            answer.text
                == #"{"error":{"message":"Requested URI does not represent any resource","detail":null},"status":"failure"}"#)
    }

    @Test func `query parameters of the tracker are refused`() async throws {
        let answer = try await office.open { try await $0.get("/api/x_snc_my_work/v1/tracker/task?sysparm_limit=1") }
        #expect(answer.status == 400)
    }

    @Test func `a comment becomes a work note`() async throws {
        let task = office.instance.addTask(title: "A", assignedTo: "john.doe")
        var client = try await office.open()
        office.clock.advance(seconds: 60)
        let answer = try await client.comment(#"It is "here" – ünï\n"#, on: task.id)
        #expect(answer.status == 201)
        #expect(answer.text == #"{"data":"Successfully inserted"}"#)
        let note = try #require(office.instance.journal(of: task.id).first)
        #expect(note.text == #"It is "here" – ünï\n"#)
        #expect(note.kind == .workNotes)
        #expect(note.author == "john.doe")
        let after = try #require(office.instance.task(task.id))
        #expect(after.updates == 1)
        #expect(after["sys_updated_on"] == "2026-01-05 09:01:00")
        #expect(after["sys_updated_by"] == "john.doe")
    }

    @Test func `a comment can address its task by number`() async throws {
        let task = office.instance.addTask(title: "A")
        let answer = try await office.open { try await $0.comment("x", on: task.number) }
        #expect(answer.status == 201)
        #expect(office.instance.journal(of: task.id).count == 1)
    }

    @Test(arguments: ["{}", #"{"comment":""}"#, #"{"comment":null}"#, #"{"comment":0}"#, #"{"comments":"x"}"#])
    func `a comment without text is refused with the name of the wrong key`(_ body: String) async throws {
        let task = office.instance.addTask(title: "A")
        let answer = try await office.open {
            try await $0.send(.POST, "/api/x_snc_my_work/v1/tracker/task/\(task.id)/comment", body: body)
        }
        #expect(answer.status == 400)
        #expect(
            try answer.json()["error"]?["message"] == """
                Valid inputs not present in request. Comments data not present. \
                Request body must be like {'comments':'My comments here'}
                """)
        #expect(office.instance.journal.isEmpty)
    }

    @Test func `a missing body is answered with a server error`() async throws {
        let task = office.instance.addTask(title: "A")
        let answer = try await office.open {
            try await $0.send(.POST, "/api/x_snc_my_work/v1/tracker/task/\(task.id)/comment")
        }
        #expect(answer.status == 500)
    }

    @Test func `an unknown task is 404, or a blank new one if that fault is set`() async throws {
        var client = try await office.open()
        let strict = try await client.comment("x", on: "0000")
        office.simulation.faults.add(.blankTaskOnBadID)
        let sloppy = try await client.comment("y", on: "0000")
        #expect(strict.status == 404)
        #expect(try strict.json()["error"]?["message"] == "Task with Record Id not found")
        #expect(sloppy.status == 201)
        let blank = try #require(office.instance.tasks.first)
        #expect(blank.title == "" && blank.table == "task")
        #expect(office.instance.journal(of: blank.id).map(\.text) == ["y"])
    }

    @Test func `access rules can refuse a comment, or drop it although the answer is 201`() async throws {
        let task = office.instance.addTask(title: "A")
        var client = try await office.open()
        office.instance.changeUser("john.doe") { $0.workNotes = .refused }
        let refused = try await client.comment("x", on: task.id)
        office.instance.changeUser("john.doe") { $0.workNotes = .ignored }
        let ignored = try await client.comment("x", on: task.id)
        #expect(refused.status == 400)
        #expect(try refused.json()["error"]?["detail"] == "May be ACL restricted updating comments")
        #expect(ignored.status == 201)
        #expect(office.instance.journal.isEmpty)
    }
}
