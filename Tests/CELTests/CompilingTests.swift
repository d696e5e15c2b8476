import CEL
import Testing

/// The steps of compiling an expression, each of which can be called alone.
struct CompilingTests {
    private let environment = Sample.environment

    @Test func `parsing checks the grammar only`() throws {
        guard case .call(let name, target: nil, let arguments) = try environment.parse("nobody.knows + 1").kind else {
            Testing.Issue.record("the result is not a sum")
            return
        }
        #expect(name == "_+_" && arguments.count == 2)
        let error = #expect(throws: Issues.self) { try environment.parse("1 +") }
        #expect(error?.all.map(\.code) == ["syntax"])
    }

    @Test func `checking infers the type without planning`() throws {
        let before = environment.slots.all.count
        #expect(try environment.check("task.number + task.title") == .string)
        #expect(environment.slots.all.count == before)
        let error = #expect(throws: Issues.self) { try environment.check("task.title", expecting: .bool) }
        #expect(error?.all.map(\.code) == ["wrong-type"])
    }
}
