import BellhopTesting
import Foundation

/// A disk of a few megabytes in memory, removed at the end of the test.
///
/// A class, because the mount must be undone.
final class SmallDisk: Sendable {
    let path: String

    /// True if this user may mount disks here.
    static let isPossible: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        return (try? SmallDisk(at: folder.path, size: "64k")) != nil
    }()

    init(at path: String, size: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Self.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(size),mode=700", "bellhop-test", path])
    }

    deinit { try? Self.run("/bin/umount", ["-l", path]) }

    func fill() throws {
        let file = open(path + "/ballast", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard file >= 0 else { throw Failed() }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(file, zeros, zeros.count) > 0 {}
    }

    func empty() { unlink(path + "/ballast") }

    func remount(readOnly: Bool) throws {
        try Self.run("/bin/mount", ["-o", readOnly ? "remount,ro" : "remount,rw", path])
    }

    struct Failed: Error {}

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = try ChildProcess(program, arguments, environment: ["PATH": "/usr/bin:/bin"])
        guard process.waitUntilExit() == 0 else { throw Failed() }
    }
}
