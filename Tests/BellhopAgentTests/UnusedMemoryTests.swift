import CMalloc
import Foundation
import Testing

@testable import BellhopAgent

@Suite struct UnusedMemoryTests {
    /// Bytes of files in memory, the code of this process among them.
    private static func filesInMemory() throws -> Int { try memory("RssFile:") }

    private static func memory(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name) })
        return try #require(Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "")) * 1024
    }

    @Test func `code and constants given back to the system use no memory, and are read again when needed`() throws {
        // Other tests run meanwhile, and bring their code back.
        let freed = try (0..<20).map { _ in
            let before = try Self.filesInMemory()
            give_files_back()
            return before - (try Self.filesInMemory())
        }
        #expect(freed.max() ?? 0 > 1 << 20, "\(freed)")
        #expect((1...100).map(String.init).joined().count == 192)
    }

    @Test func `freed memory between blocks in use goes back to the system`() throws {
        // Other tests run meanwhile, and take memory.
        let freed = try (0..<10).map { _ in
            var blocks = (0..<8000).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16) }
            for block in blocks { block.initializeMemory(as: UInt8.self, repeating: 1, count: 4096) }
            // One in a hundred stays, so that the C library cannot return the others by itself.
            for (number, block) in blocks.enumerated() where number % 100 != 0 { block.deallocate() }
            let before = try Self.memory("RssAnon:")
            UnusedMemory.release()
            let after = try Self.memory("RssAnon:")
            for (number, block) in blocks.enumerated() where number % 100 == 0 { block.deallocate() }
            blocks = []
            return before - after
        }
        #expect(freed.max() ?? 0 > 16 << 20, "\(freed)")
    }

    @Test func `a block of 1 MB that was freed is taken again without new pages`() throws {
        /// The pages that this thread got.
        func pages() throws -> Int {
            let status = try String(contentsOfFile: "/proc/thread-self/stat", encoding: .utf8)
            let fields = try #require(status.split(separator: ")").last).split(separator: " ")
            return try #require(Int(fields[7]))
        }
        keep_freed_memory()
        let before = try pages()
        for _ in 0..<100 {
            let block = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16)
            block.initializeMemory(as: UInt8.self, repeating: 1, count: 1 << 20)
            block.deallocate()
        }
        // Each new block has 256 pages. Other tests give memory back meanwhile.
        #expect(try pages() - before < 100 * 128)
    }
}
