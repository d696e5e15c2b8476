import BellhopCore
import Testing

@Suite struct FieldDefinitionsTests {
    private let first = FieldDefinitions().updated(to: ["rank": "int urgency", "state": "int state"])

    @Test func `a field is redefined for the tasks that were read before its new definition`() {
        #expect(first.revision == 0 && first.redefined(since: 0).isEmpty)
        let second = first.updated(to: ["rank": "int impact", "state": "int state", "added": "text added"])
        #expect(second.revision == 1 && second.redefined(since: 0) == ["rank"] && second.redefined(since: 1).isEmpty)
        #expect(second.updated(to: ["rank": "int impact", "state": "int state"]) == second)
        let third = second.updated(to: ["rank": "int impact", "state": "text state"])
        #expect(third.redefined(since: 0) == ["rank", "state"] && third.redefined(since: 1) == ["state"])
    }

    @Test func `the definition of a field is kept while it is not declared`() {
        let without = first.updated(to: ["state": "int state"])
        #expect(without.updated(to: ["rank": "int impact"]).redefined(since: 0) == ["rank"])
        #expect(without.updated(to: ["rank": "int urgency"]) == first)
    }

    @Test func `definitions are read from their stored form`() {
        let second = first.updated(to: ["rank": "int impact"])
        #expect(FieldDefinitions(json: second.json) == second)
        #expect(FieldDefinitions(json: FieldDefinitions().json) == FieldDefinitions())
    }
}
