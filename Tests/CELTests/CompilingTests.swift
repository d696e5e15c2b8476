import CEL
import Testing

/// The steps by which a text becomes a program, each of which may be asked for alone.
struct CompilingTests {
    private let environment = Sample.environment

    @Test func `parsing looks at the grammar alone`() throws {
        guard case .call(let name, target: nil, let arguments) = try environment.parse("nobody.knows + 1").kind else {
            Testing.Issue.record("no sum")
            return
        }
        #expect(name == "_+_" && arguments.count == 2)
        do throws(Issues) {
            _ = try environment.parse("1 +")
            Testing.Issue.record("half a sum passed")
        } catch {
            #expect(error.all.map(\.code) == ["syntax"])
        }
    }

    @Test func `checking gives the type, and plans nothing`() throws {
        let before = environment.slots.all.count
        #expect(try environment.check("task.number + task.title") == .string)
        #expect(environment.slots.all.count == before)
        do throws(Issues) {
            _ = try environment.check("task.title", expecting: .bool)
            Testing.Issue.record("a text passed as a condition")
        } catch {
            #expect(error.all.map(\.code) == ["wrong-type"])
        }
    }
}
