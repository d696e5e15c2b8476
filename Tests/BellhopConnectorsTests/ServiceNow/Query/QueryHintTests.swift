import BellhopCore
import Testing

@testable import BellhopConnectors

/// The hint for an encoded query where a rule expects an expression.
@Suite struct `Hints about encoded queries` {
    private static let types: [String: FieldType] = [
        "priority": .int, "state": .int, "active": .bool, "assigned_to": .text, "number": .text, "short_description": .text,
    ]

    @Test(arguments: [
        ("priority=1^active=true^ORstate!=6", "`task.priority == 1 && (task.active == true || task.state != 6)`"),
        ("priorityIN1,2", "`task.priority in [1, 2]`"),
        ("assigned_toISEMPTY^priorityISNOTEMPTY", "`task.assigned_to == \"\" && task.priority != null`"),
        (
            "active=true^priorityIN1,2^short_descriptionLIKEdisk^ORpriority=1^ORDERBYDESCnumber",
            "`task.active == true && task.priority in [1, 2] && (task.short_description.contains(\"disk\") || task.priority == 1)`"
        ),
        (
            "active=true^NQpriority=1^numberNOT INa,b",
            "`task.active == true || task.priority == 1 && !(task.number in [\"a\", \"b\"])`"
        ),
    ]) func `an encoded query is shown as a condition`(_ query: String, _ condition: String) {
        let hint = EncodedQuery.hint(query) { Self.types[$0] }
        #expect(hint?.message == "this is an encoded query, which belongs in the `query` of a source")
        #expect(hint?.help == "as a condition: \(condition)")
    }

    @Test(arguments: [
        "assigned_to=javascript:gs.getUserID()",
        "sys_created_onONToday@javascript:gs.daysAgoStart(0)@javascript:gs.daysAgoEnd(0)",
    ]) func `a query without an equivalent condition belongs under a source`(_ query: String) {
        let help = EncodedQuery.hint(query) { Self.types[$0] }?.help
        #expect(help == "write `query: '\(query)'` under a source of kind `table` in bellhop.yaml")
    }

    @Test(arguments: ["task.priority=1", "priority == 1", "priority==1", "priority=~x", "state!=6", "", "priority", "a = 1"])
    func `an expression with a mistake is not taken for an encoded query`(_ text: String) {
        #expect(EncodedQuery.hint(text) { Self.types[$0] } == nil)
    }
}
