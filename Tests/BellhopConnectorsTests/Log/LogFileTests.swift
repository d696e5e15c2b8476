import BellhopCore
import BellhopTesting
import Glibc
import Testing

@testable import BellhopConnectors

/// A log file that another rotator moves while lines are in it that no sync has covered yet.
@Suite struct `A log file that is moved` {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/a.log" }

    init() throws { folder = try TemporaryFolder() }

    /// The number of the file that is at the path now.
    private var place: UInt {
        var facts = stat()
        return stat(path, &facts) == 0 ? UInt(facts.st_ino) : 0
    }

    private func file(writeToDisk: @escaping @Sendable (Int32) -> Int32) -> LogFile {
        LogFile(
            path: path, rotation: LogRotation(), places: LogPlaces(folders: [folder.path], own: []), writeToDisk: writeToDisk)
    }

    @Test func `its lines are on disk before they are acknowledged`() throws {
        let synced = Recording<UInt>()
        let file = file { descriptor in
            var facts = stat()
            fstat(descriptor, &facts)
            synced.add(UInt(facts.st_ino))
            return 0
        }
        try file.append(Array("one\n".utf8))
        let moved = place
        #expect(rename(path, path + ".1") == 0)
        try file.append(Array("two\n".utf8))
        try file.sync()
        #expect(synced.all == [moved, place] && moved != place)
    }

    @Test func `if they cannot be kept on disk, the next sync fails, and the one after it does not`() throws {
        let failures = Recording<Int32>()
        let file = file { descriptor in
            if !failures.all.isEmpty { return 0 }
            failures.add(descriptor)
            errno = EIO
            return -1
        }
        try file.append(Array("one\n".utf8))
        #expect(rename(path, path + ".1") == 0)
        try file.append(Array("two\n".utf8))
        let failure = #expect(throws: Failure.self) { try file.sync() }
        #expect(failure?.reason == .fileSystem && failure?.remedy == .retry(after: nil))
        try file.sync()
    }
}
