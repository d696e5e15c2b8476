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

    @Test func `code that was given back needs no memory, and runs again when it is called`() throws {
        // Other tests run meanwhile, and bring their code back.
        let freed = try (0..<20).map { _ in
            let before = try Self.filesInMemory()
            UnusedMemory.giveFilesBack()
            return before - (try Self.filesInMemory())
        }
        #expect(freed.max() ?? 0 > 1 << 20, "\(freed)")
        #expect((1...100).map(String.init).joined().count == 192)
    }

    @Test func `constants that were written at the start, data and memory without a file are not given back`() {
        let maps = """
            55d0c8000000-55d0c8a00000 r--p 00000000 08:01 7                          /usr/bin/my bellhop
            Size:              10240 kB
            Anonymous:             0 kB
            55d0c8a00000-55d0ca900000 r-xp 00a00000 08:01 7                          /usr/bin/my bellhop
            Anonymous:             0 kB
            55d0ca900000-55d0ca910000 r--p 02900000 08:01 7                          /usr/bin/my bellhop
            Anonymous:            16 kB
            55d0ca910000-55d0ca920000 rw-p 02910000 08:01 7                          /usr/bin/my bellhop
            Anonymous:             0 kB
            7f0000000000-7f0000021000 rw-p 00000000 00:00 0
            Anonymous:             0 kB
            7ffd1c7f9000-7ffd1c7fb000 r-xp 00000000 00:00 0                          [vdso]
            Anonymous:             0 kB
            VmFlags: rd ex mr mw me
            """
        let expected: [Range<UInt>] = [0x55d0_c800_0000..<0x55d0_c8a0_0000, 0x55d0_c8a0_0000..<0x55d0_ca90_0000]
        #expect(UnusedMemory.unwrittenParts(of: maps) == expected)
    }

    @Test func `freed memory between blocks in use goes back to the system`() throws {
        // Other tests run meanwhile, and take memory.
        let freed = try (0..<10).map { _ in
            var blocks = (0..<8000).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 16) }
            for block in blocks { block.initializeMemory(as: UInt8.self, repeating: 1, count: 4096) }
            // One in a hundred stays, so that the C library cannot return the others by itself.
            for (number, block) in blocks.enumerated() where number % 100 != 0 { block.deallocate() }
            let before = try Self.memory("RssAnon:")
            UnusedMemory.giveBack()
            let after = try Self.memory("RssAnon:")
            for (number, block) in blocks.enumerated() where number % 100 == 0 { block.deallocate() }
            blocks = []
            return before - after
        }
        #expect(freed.max() ?? 0 > 16 << 20, "\(freed)")
    }
}
