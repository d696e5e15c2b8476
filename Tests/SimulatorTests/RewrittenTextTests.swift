import BellhopCore
import BellhopTesting
import Testing

@testable import Simulator

/// Instances that change the text of journal entries, and show it in their own way.
@Suite(.closing) struct RewrittenTextTests {
    let office = Office()

    @Test(arguments: [
        (TextRewriting.tagsStripped, "a <b>bold</b> 1 < 2 > 0 <br/>end", "a bold 1 < 2 > 0 end"),
        (.digitsMasked, "call 0049 30 1234567, room 214", "call **** 30 *******, room 214"),
        (
            .typography, #"He said "it's -- done" - now..."#,
            "He said \u{201C}it\u{2019}s \u{2014} done\u{201D} \u{2013} now\u{2026}"
        ),
        (.textCut(characters: 5), "Grüße von mir", "Grüße"),
    ])
    func `an instance rewrites comments as configured, but not titles`(_ rewriting: TextRewriting, _ sent: String, _ kept: String)
        async throws
    {
        let task = office.instance.addTask(title: "A")
        office.simulation.faults.add(.rewritten(rewriting), times: nil)
        var client = try await office.open()
        #expect(try await client.comment(sent, on: task.id).status == 201)
        let body: JSON = ["comments": .string(sent), "short_description": .string(sent)]
        let path = "/api/now/v2/table/incident/\(task.id)"
        #expect(try await client.send(.PATCH, path, body: body.text).status == 200)
        #expect(office.instance.journal.map(\.text) == [kept, kept])
        #expect(office.instance.task(task.id)?.title == sent)
    }

    @Test func `several changes of a text are combined, and a change can apply to comments only`() async throws {
        let task = office.instance.addTask(title: "A")
        var client = try await office.open()
        let rules = #"[{"fault":"text_cut","characters":4,"field":"comments"},{"fault":"tags_stripped"}]"#
        #expect(try await client.send(.POST, "/simulator/faults", body: rules).status == 201)
        let body: JSON = ["comments": "<i>caller", "work_notes": "<i>colleague"]
        for _ in 0..<2 {
            let answer = try await client.send(.PATCH, "/api/now/v2/table/incident/\(task.id)", body: body.text)
            #expect(answer.status == 200)
        }
        #expect(office.instance.journal.map(\.text).sorted() == ["call", "call", "colleague", "colleague"])
    }

    @Test func `an account without access to the journal sees the history in its own zone, formats and labels`() async throws {
        let task = office.instance.addTask(title: "A")
        office.instance.addNote("Any news?", .comments, on: task.id, by: "john.doe")
        var client = try await office.open()
        let user = #"{"journal":"hidden","utc_offset":60,"date_format":"dd.MM.yyyy","time_format":"hh:mm:ss a"}"#
        #expect(try await client.send(.PATCH, "/simulator/users/john.doe", body: user).status == 200)
        let labels = #"{"labels":{"comments":"Kommentare"}}"#
        #expect(try await client.send(.PATCH, "/simulator/settings", body: labels).status == 204)
        let journal = try await client.get("/api/now/v2/table/sys_journal_field?sysparm_query=element_id=\(task.id)")
        #expect(try journal.result?.asArray?.isEmpty == true)
        let shown = try await client.get(
            "/api/now/v2/table/incident/\(task.id)?sysparm_display_value=true&sysparm_fields=comments,sys_created_on")
        #expect(try shown.result?["comments"] == "05.01.2026 10:00:00 AM - John Doe (Kommentare)\nAny news?\n\n")
        #expect(try shown.result?["sys_created_on"] == "05.01.2026 10:00:00 AM")
        let label = try await client.get(
            "/api/now/v2/table/sys_dictionary?sysparm_query=name=task^element=comments&sysparm_fields=column_label")
        #expect(try label.result?.asArray?.first?["column_label"] == "Kommentare")
    }
}
