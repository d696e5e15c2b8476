import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import bellhop

@Suite(.timeLimit(.minutes(5)), .closing) struct `Back-tests through a console, from the command line` {
    /// A console whose only back-test has this state.
    private static func answer(_ job: String) -> @Sendable (String) -> CannedServer.Answer {
        { line in
            line.hasPrefix("POST") ? .init(status: "202 Accepted", body: #"{"id": "b1", "state": "waiting"}"#) : .init(body: job)
        }
    }

    private static func client(_ address: String) throws -> ConsoleClient {
        try ConsoleClient(address, environment: ["BELLHOP_TOKEN": "bh_0123"])
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends the back-test on the console, and then the command`(_ signal: Int32) async throws {
        let server = try CannedServer(Self.answer(#"{"state": "running", "progress": 0.5}"#))
        let folder = try TemporaryFolder()
        let program = try Program(
            ["backtest", "--console", server.address], in: folder.path, environment: ["BELLHOP_TOKEN": "bh_0123"])
        while !server.asked.contains(where: { $0.hasPrefix("GET") }) { try await Task.sleep(for: .milliseconds(5)) }
        program.send(signal)
        let ended = await program.end()
        #expect(server.asked.last == "DELETE /api/v1/backtests/b1 HTTP/1.1", "\(server.asked)")
        #expect(ended.output.isEmpty && ended.code == 128 + signal, "\(ended)")
    }

    @Test(arguments: ["failed", "ended"])
    func `a back-test without a report is an error with its reason, and is not deleted`(_ state: String) async throws {
        let job = #"{"state": "\#(state)", "problem": "A person ended it."}"#
        let server = try CannedServer(Self.answer(job))
        let error = await #expect(throws: CommandError.self) {
            _ = try await Self.client(server.address).backTest([:]) { _ in }
        }
        #expect(error?.code == .problem && error?.message == "The back-test there ended: A person ended it.")
        #expect(!server.asked.contains { $0.hasPrefix("DELETE") })
    }

    @Test(arguments: ["{}", #"{"state": "done"}"#, #"{"state": "done", "report": null}"#, "nonsense"])
    func `an unreadable answer is an error, and the back-test is deleted`(_ job: String) async throws {
        let server = try CannedServer(Self.answer(job))
        let error = await #expect(throws: CommandError.self) {
            _ = try await Self.client(server.address).backTest([:]) { _ in }
        }
        #expect(error?.message?.contains("cannot read the console's answer") == true, "\(error?.message ?? "")")
        #expect(server.asked.last?.hasPrefix("DELETE") == true)
    }

    @Test func `if the console refuses rules as too large, its message is shown`() async throws {
        let answer = CannedServer.Answer(
            status: "413 Content Too Large", type: "application/problem+json",
            body: #"{"status": 413, "detail": "The text has more than 256 KB."}"#)
        let server = try CannedServer { _ in answer }
        let error = await #expect(throws: CommandError.self) {
            _ = try await Self.client(server.address).backTest([:]) { _ in }
        }
        #expect(error?.message == "The console refused: The text has more than 256 KB.")
    }
}
