import Foundation
import Testing

@testable import BellhopAgent

@Suite struct ProgramCodeTests {
    /// Bytes of files in memory, the code of this process among them.
    private static func filesInMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "")) * 1024
    }

    @Test func `code that was given back needs no memory, and runs again when it is called`() throws {
        // Other tests run meanwhile, and bring their code back.
        let freed = try (0..<20).map { _ in
            let before = try Self.filesInMemory()
            ProgramCode.giveBack()
            return before - (try Self.filesInMemory())
        }
        #expect(freed.max() ?? 0 > 1 << 20, "\(freed)")
        #expect((1...100).map(String.init).joined().count == 192)
    }
}
