import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct FieldTests {
    @Test(
        arguments: [
            // Section 2.3 of the Table API's answers, row by row: references, then plain fields.
            (#"{"link":"https://x/api/now/table/sys_user/1","value":"1"}"#, "1", nil), (#""""#, "", nil), (#""1""#, "1", nil),
            (#"{"display_value":"Abel Tuter","link":"https://x"}"#, "Abel Tuter", "Abel Tuter"),
            (#"{"display_value":"Abel Tuter","link":"https://x","value":"1"}"#, "1", "Abel Tuter"),
            (#"{"display_value":"","value":""}"#, "", ""), (#"{"display_value":"New","value":"1"}"#, "1", "New"),
            (#"{"display_value":null,"value":"1"}"#, "1", ""), ("null", "", nil), ("true", "true", nil), ("7", "7", nil),
        ] as [(String, String, String?)])
    func `every shape of a field is read`(_ text: String, _ raw: String, _ label: String?) throws {
        let value = try #require(FieldValue(try JSON.parse(text)))
        #expect(value.raw == raw)
        #expect(value.label == label)
    }

    @Test func `an answer without a value has no field value`() throws {
        #expect(FieldValue(nil) == nil)
        #expect(FieldValue([]) == nil)
        #expect(FieldValue(["link": "https://x"]) == nil)
    }

    @Test(arguments: [
        ("3", FieldType.int, JSON.int(3)), ("", .int, .null), ("3 - Moderate", .int, .null), ("true", .bool, true),
        ("0", .bool, false),
        ("maybe", .bool, .null), ("2026-01-05 09:00:00", .timestamp, "2026-01-05T09:00:00.000000Z"),
        ("2026-01-05", .timestamp, "2026-01-05T00:00:00.000000Z"), ("05/01/2026 09:00", .timestamp, .null),
        ("", .timestamp, .null),
        ("", .text, ""), ("1.5", .double, 1.5), ("nan", .double, .null),
    ])
    func `a value takes its field's type, or is null`(_ raw: String, _ type: FieldType, _ json: JSON) throws {
        #expect(FieldValue(.string(raw))?.typed(type) == json)
    }

    @Test func `types are found by name, also at the end of a path`() throws {
        let schema = try TaskFields.schema(
            ["priority", "active", "opened_at", "u_team", ["parent_state": "parent.state"]], display: .values, source: "s")
        #expect(schema.fields.map(\.type) == [.int, .bool, .timestamp, .text, .int])
        #expect(schema["parent_state"]?.path == "parent.state")
        #expect(try TaskFields.schema(nil, display: .values, source: "s").fields.map(\.name) == TaskFields.standard)
    }

    @Test func `the field that says when a task was created is known by name, declared or not`() throws {
        let renamed = try TaskFields.schema(["number", ["made": "sys_created_on"]], display: .values, source: "s")
        #expect(renamed.created?.name == "made")
        let without = try TaskFields.schema(["number"], display: .values, source: "s")
        #expect(without.created == nil)
        #expect(without.roles.created == "sys_created_on")
    }

    @Test(
        arguments: [
            (["caller_id.name"], "A field of another record needs a name of its own: {caller_id_name: caller_id.name}."),
            (["number", "number"], "The field `number` is declared twice."),
            (["a b"], "`a b` is not a field name: letters, digits and _ only."),
            ([["x": "a^b"]], "`a^b` is not a path to a field."), ([], "A source needs at least one field."),
            ([1], "A field is a name, or {name: path} for a field of another record."),
        ] as [(JSON, String)])
    func `a wrong field is reported`(_ fields: JSON, _ message: String) {
        let error = #expect(throws: ConnectorError.self) { try TaskFields.schema(fields, display: .values, source: "my-work") }
        #expect(error == ConnectorError(connection: "my-work", setting: "fields", message))
    }
}

@Suite struct ServiceNowConnectionTests {
    @Test(arguments: [
        ("acme", "https://acme.service-now.com"), ("acme.service-now.com", "https://acme.service-now.com"),
        ("https://help.example.com/", "https://help.example.com"), (" acme ", "https://acme.service-now.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ])
    func `an instance is a name or an address`(_ text: String, _ origin: String) throws {
        #expect(try ServiceNowConnection.base(text, connection: "snow").origin == origin)
    }

    @Test(arguments: ["", "https://acme.service-now.com/navpage.do", "https://john:x@acme.service-now.com", "ac me"])
    func `an invalid instance name is refused`(_ text: String) {
        #expect(throws: ConnectorError.self) { try ServiceNowConnection.base(text, connection: "snow") }
    }

    @Test func `a password is not printed`() {
        let credentials = Credentials(username: "john.doe", password: "hunter2")
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect(!"\(credentials) \(String(reflecting: credentials)) \(dumped)".contains("hunter2"))
    }
}
