import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct RefusalMemoryTests {
    @Test func `a refusal that cannot be stored is remembered in memory, even if an older one is stored`() async throws {
        let notebook = MemoryNotebook()
        let memory = RefusalMemory(connection: "snow", instance: "https://a", notebook: notebook) { 7 }
        func credentials(_ password: String) -> Credentials { Credentials(username: "ada", password: password) }
        try await memory.remember("The first was refused.", of: credentials("old"))
        notebook.refuseWriting()
        await #expect(throws: MemoryNotebook.Broken.self) {
            try await memory.remember("The second was refused.", of: credentials("new"))
        }
        #expect(try await memory.refusal(of: credentials("new"))?.message == "The second was refused.")
        #expect(try await memory.refusal(of: credentials("third")) == nil)
    }
}
