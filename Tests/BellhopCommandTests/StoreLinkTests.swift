import BellhopAgent
import BellhopCore
import BellhopStore
import BellhopTesting
import Testing

@testable import bellhop

@Suite struct StoreLinkTests {
    @Test func `a change is refused with the advice to try again while an agent has the store and does not answer yet`()
        async throws
    {
        let folder = try TemporaryFolder()
        let path = folder.path + "/bellhop.db"
        let store = try Stores.open(path)
        let link = StoreLink(
            store: path, socket: ControlSocket.place(store: path, environment: [:]), zone: .utc, connections: [:], events: [],
            users: [])
        let error = await #expect(throws: CommandError.self) { _ = try await link.answer(.forget(task: "INC1")) }
        #expect(error?.code == .tryLater)
        #expect(error?.message?.contains("does not answer on its socket: try again") == true)
        try await store.close()
    }

    @Test(arguments: [InquiryError.Kind.cutOff, .silent])
    func `an agent that does not answer is a reason to try later`(kind: InquiryError.Kind) {
        #expect(CommandError(InquiryError(kind, "It does not answer.")).code == .tryLater)
        #expect(CommandError(InquiryError(.badRequest, "There is no rule x.")).code == .problem)
    }
}
