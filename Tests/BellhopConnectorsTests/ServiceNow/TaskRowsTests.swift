import BellhopCore
import Testing

@testable import BellhopConnectors

/// Writing rows as the stored form of tasks directly.
@Suite struct TaskRowsTests {
    private static let rows = [
        #"{"sys_id":"1","number":"INC1","short_description":"Printer","sys_class_name":"incident","priority":"1","active":"true","opened_at":"2026-01-05 08:52:12","assigned_to":""}"#,
        #"{"sys_id":"2","short_description":"a \"quote\", \\ and \u00e9 für 😀","priority":" 2 ","active":"maybe","opened_at":"","assigned_to":"x"}"#,
        #"{"assigned_to":{"display_value":"John Doe","value":"j"},"sys_class_name":{"display_value":"Change","value":"change_request"},"priority":{"display_value":"1 - Critical","value":"1"},"sys_id":"3","opened_at":{"display_value":"5 Jan","value":"2026-01-05"}}"#,
        #"{"sys_id":"4","sys_class_name":"change_request","short_description":7,"number":null,"priority":3,"active":true,"assigned_to":["x"],"opened_at":"soon"}"#,
        "{\"sys_id\":\"5\",\"short_description\":\"a\u{2028}b\",\"assigned_to\":\"a\u{2029}\"}", #"{"sys_id":"6"}"#,
    ]

    @Test(arguments: [Display.values, .labels, .both])
    func `a row written directly equals the task that is read from it`(_ display: Display) async throws {
        let schema = TaskSchema([
            .init("title", .text, path: "short_description"), .init("priority", .int), .init("active", .bool),
            .init("opened", .timestamp, path: "opened_at"), .init("assigned_to", .text), .init("absent", .text),
            .init("number", .text),
        ])
        let reading = TaskReading(schema: schema, display: display, table: "task") { "https://acme.example/\($0.text)" }
        // Many rows, so that several stretches are read concurrently.
        let many = (0..<1000).flatMap { copy in
            Self.rows.map { $0.replacing(#""sys_id":""#, with: #""sys_id":"\#(copy)-"#) }
        }
        let listing = try Listing(Array("{\"result\":[\(many.joined(separator: ","))]}".utf8), shape: .serviceNow)
        let written = await reading.tasks(of: listing.entries, in: listing).flatMap(\.self)
        let read = listing.entries.map { entry in
            let row = listing.record(of: entry)
            return reading.text(of: reading.snapshot(entry.key, row: row), row: row)
        }
        #expect(written.count == read.count)
        let different = zip(written, read).first { $0 != $1 }
        #expect(different?.0.snapshot == different?.1.snapshot && different?.0.unread == different?.1.unread)
        #expect(different?.1.key == nil)
        #expect(read.first?.unread == ["absent"])
    }
}
