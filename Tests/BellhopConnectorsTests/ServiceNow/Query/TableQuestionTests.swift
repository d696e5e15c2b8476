import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct TableQuestionTests {
    private func complaint(_ settings: JSON.Object) -> SettingComplaint? {
        Catalogue.complaints(about: Settings(settings), ofSource: "table").first
    }

    @Test func `a table without a query lists all rows`() throws { #expect(try TableQuestion(Settings()).query == .all) }

    @Test func `order, limit and category are read apart from the query`() throws {
        let written = try TableQuestion(Settings(["query": "a=1^EQ^ORDERBYDESCb"]))
        #expect(written.query.text == "a=1")
        #expect(written.order == [.init(field: "b", descending: true)])
        let filter = try TableQuestion(Settings(["where": ["a": 1, "limit": 5, "sort": ["b"], "query_category": "x"]]))
        #expect(filter.query.text == "a=1")
        #expect(filter.limit == 5)
        #expect(filter.category == "x")
    }

    @Test func `each mistake is reported with its place`() {
        let both = complaint(["query": "a=1", "where": ["a": 1]])
        #expect(both?.message == "give either `query` or `where`")
        let query = complaint(["query": "a=1^bSTARTWITHx"])
        #expect(query?.path == [.key("query")])
        #expect(query?.range == 5..<15)
        #expect(query?.help == "did you mean `STARTSWITH`?")
        let filter = complaint(["where": ["a": ["startswith": "x"]]])
        #expect(filter?.path == [.key("where"), .key("a"), .key("startswith")])
        #expect(complaint(["where": [:]])?.code == "empty-filter")
        #expect(complaint(["query": ""])?.message == "an empty query would match every row")
    }

    @Test func `a source cannot filter by changes of a record`() {
        let complaints = [complaint(["query": "stateCHANGESTO6"]), complaint(["where": ["state": ["changes": true]]])]
        #expect(complaints.map { $0?.path } == [[.key("query")], [.key("where")]])
        #expect(complaints[0]?.help == "write in a rule: `on: {task_changed: {state: {to: …}}}`")
    }
}
