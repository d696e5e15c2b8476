import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Structured filters, run over HTTP: they return the matching rows, and the verdict about a row never contradicts that.
@Suite(.closing) struct FilterRowsTests {
    let practice = Practice()
    var instance: SimulatedInstance { practice.instance }

    /// Rows that differ in the fields used by the examples; it is nine o'clock on a Monday.
    private func fill() {
        let desk = instance.group("Service desk")
        let network = instance.group("Network")
        instance.changeUser("john.doe") { $0.groups = [desk] }
        let john = instance.user("john.doe")?.id ?? ""
        let abel = instance.user("abel.tuter")?.id ?? ""
        func add(_ title: String, _ fields: [String: String], priority: Int = 3, to owner: String? = nil) {
            instance.addTask(title: title, priority: priority, assignedTo: owner, fields: fields)
        }
        add(
            "broken printer",
            [
                "number": "INC0000042", "state": "1", "reassignment_count": "4", "opened_at": "2026-01-05 08:30:00",
                "due_date": "2026-01-05 07:59:59", "sla_due": "2026-01-05 00:00:00", "opened_by": john, "caller_id": john,
                "assignment_group": desk, "escalation": "2",
            ], priority: 1, to: "john.doe")
        add(
            "test of the mail",
            [
                "number": "INC0000043", "state": "6", "reassignment_count": "3", "opened_at": "2026-01-04 23:59:59",
                "due_date": "2026-01-05 08:00:00", "sla_due": "2026-01-04 23:59:59", "opened_by": abel, "caller_id": john,
                "assignment_group": network, "escalation": "0",
            ], priority: 2, to: "abel.tuter")
        add(
            "",
            [
                "number": "CHG0000042", "state": "7", "reassignment_count": "", "opened_at": "2026-01-02 12:00:00",
                "due_date": "", "sla_due": "", "opened_by": "", "caller_id": "", "escalation": "3", "active": "false",
            ], priority: 4)
        add(
            "mail is broken, a^b",
            [
                "number": "INC0000044", "state": "", "reassignment_count": "2", "opened_at": "2026-01-05 05:00:00",
                "due_date": "2026-02-01 00:00:00", "sla_due": "2026-01-06 00:00:00", "opened_by": john, "caller_id": abel,
                "escalation": "0",
            ], priority: 3)
    }

    /// The last digits of the numbers of the rows that a filter returns, in the order of the filter or of the rows.
    private func rows(_ where: JSON, by connection: ServiceNowConnection) async throws -> [String] {
        let question = try TableQuestion(Settings(["where": `where`]))
        var query = question.query
        query.order = question.order
        let paths = ["sys_id", "number"] + question.query.fields.filter { $0 != "number" && $0 != "sys_id" }
        let ask = TableReader(session: connection.reading, table: "incident", paths: paths, display: .values)
        let found = try await ask.page(query, limit: question.limit ?? 1000).list
        let all = try await ask.page(.all, limit: 1000).list
        #expect(all.count == 4)
        // The verdict about each row: it must not be certain and wrong.
        let ids = Set(found.compactMap { $0["sys_id"]?.asString })
        for row in all {
            let verdict = question.query.judge(row)
            let isThere = ids.contains(row["sys_id"]?.asString ?? "")
            #expect(verdict == .unknown || (verdict == .matches) == isThere, "\(query.text): \(row)")
        }
        return found.compactMap { $0["number"]?.asString.map { $0.hasPrefix("CHG") ? "C42" : String($0.suffix(2)) } }
    }

    /// An example in the article *Filters*, and its rows.
    private static let examples: [(String, [String])] = [
        (
            #"""
            {"any": [{"active": true, "any": [{"assigned_to": {"is_empty": true}}, {"assigned_to": "me"}]},
                     {"escalation": [2, 3]}],
             "sort": ["priority", {"opened_at": "desc"}], "limit": 50}
            """#, ["42", "44", "C42"]
        ),
        (#"{"assigned_to": {"is": "me"}}"#, ["42"]), (#"{"state": {"is_not": 7}}"#, ["42", "43", "44"]),
        (#"{"priority": {"is_one_of": [1, 2]}}"#, ["42", "43"]), (#"{"state": {"is_not_one_of": [6, 7]}}"#, ["42", "44"]),
        (#"{"assigned_to": {"is_empty": true}}"#, ["C42", "44"]), (#"{"assigned_to": {"is_not_empty": true}}"#, ["42", "43"]),
        (#"{"short_description": {"is_empty_string": true}}"#, ["C42"]),
        (#"{"short_description": {"contains": "broken"}}"#, ["42", "44"]),
        (#"{"short_description": {"does_not_contain": "test"}}"#, ["42", "C42", "44"]),
        (#"{"number": {"starts_with": "INC"}}"#, ["42", "43", "44"]), (#"{"number": {"ends_with": "42"}}"#, ["42", "C42"]),
        (#"{"reassignment_count": {"greater_than": 3}}"#, ["42"]), (#"{"reassignment_count": {"at_least": 3}}"#, ["42", "43"]),
        (#"{"priority": {"less_than": 3}}"#, ["42", "43"]), (#"{"priority": {"at_most": 3}}"#, ["42", "43", "44"]),
        (#"{"priority": {"between": [2, 4]}}"#, ["43", "C42", "44"]), (#"{"opened_at": {"on": "today"}}"#, ["42", "44"]),
        (#"{"opened_at": {"not_on": {"days_ago": 3}}}"#, ["42", "43", "44"]),
        (#"{"due_date": {"before": "2026-01-05T09:00:00+01:00"}}"#, ["42"]),
        (#"{"opened_at": {"at_or_before": {"days_ago": 1}}}"#, ["43", "C42"]),
        (#"{"opened_at": {"after": {"hours_ago": 4, "at": "now"}}}"#, ["42"]),
        (#"{"sla_due": {"at_or_after": {"days_ago": 0}}}"#, ["42", "44"]),
        (#"{"opened_by": {"same_as": "caller_id"}}"#, ["42", "C42"]),
        (#"{"opened_by": {"not_same_as": "assigned_to"}}"#, ["44"]),
        (#"{"sys_class_name": {"instance_of": "task"}}"#, ["42", "43", "C42", "44"]),
        (#"{"assignment_group": {"dynamic": "d6435e965f510100a9ad2572f2b47744"}}"#, ["42"]),
        (#"{"assignment_group": {"is_one_of": "my_groups"}}"#, ["42"]),
        // The examples in the text between the tables.
        (#"{"short_description": "mail is broken, a^b"}"#, ["44"]),
        (#"{"due_date": {"after": {"field": "sla_due"}}}"#, ["42", "43", "44"]),
        (#"{"due_date": {"at_or_before": {"field": "opened_at"}}}"#, ["42"]),
        (#"{"keywords": "mail broken"}"#, ["44"]), (#"{"keywords": "mail", "state": 6}"#, ["43"]),
        (#"{"opened_at": {"on": "2026-01-04"}}"#, ["43"]), (#"{"due_date": {"on": {"months_ago": 0}}}"#, ["42", "43"]),
        (#"{"opened_at": {"between": [{"days_ago": 1}, "2026-01-05T06:00:00Z"]}}"#, ["43", "44"]),
        (#"{"caller_id.user_name": "john.doe"}"#, ["42", "43"]), (#"{"any": [{"state": 6}, {"priority": 4}]}"#, ["43", "C42"]),
    ]

    @Test func `each documented example returns the intended rows`() async throws {
        fill()
        let connection = try await practice.open()
        for (text, expected) in Self.examples {
            let rows = try await rows(try JSON.parse(text), by: connection)
            let isOrdered = text.contains("sort")
            #expect(isOrdered ? rows == expected : rows.sorted() == expected.sorted(), "\(text) brings \(rows)")
        }
    }

    /// The examples of the reference, so that each operator added there is run here.
    @Test(arguments: FilterOperator.allCases)
    func `the example of every operator in the reference runs`(_ how: FilterOperator) async throws {
        // TimeFilterTests has the operators for changing rows, trees and calendars, which the simulated tables do not have.
        if [.changes, .changesFrom, .changesTo, .inHierarchy, .isMoreThan, .isLessThan, .datePart, .relative].contains(how) {
            return
        }
        fill()
        let (_, field, example) = how.reference
        let connection = try await practice.open()
        _ = try await rows(.object([field: [how.rawValue: example]]), by: connection)
    }

    @Test func `times relative to now are in the user's time zone`() async throws {
        fill()
        // There it is six in the evening, and at 23:59:59 of the day before it was already Monday here.
        instance.changeUser("john.doe") { $0.utcOffset = 540 }
        let connection = try await practice.open()
        let today = try await rows(["opened_at": ["on": "today"]], by: connection)
        #expect(today.sorted() == ["42", "43", "44"])
        let later = try await rows(["opened_at": ["after": "2026-01-05T00:00:00Z"]], by: connection)
        #expect(later.sorted() == ["42", "44"])
    }
}
