import BellhopCore
import Synchronization

/// The files that rules write to, each open once.
///
/// A class over a lock, because deliveries that write to the same file must find the same one.
final class LogFiles: Sendable {
    /// So many stay open; a rule can make names of files from values.
    private static let capacity = 32

    private let baseFolder: String
    private let rotation: LogRotation
    /// Those used last at the end.
    private let open = Mutex<[LogFile]>([])

    init(baseFolder: String, rotation: LogRotation) {
        self.baseFolder = baseFolder
        self.rotation = rotation
    }

    /// The file of that name, relative to the base folder.
    func file(_ name: String) throws(Failure) -> LogFile {
        guard !name.isEmpty, !name.hasSuffix("/"), !name.utf8.contains(0) else {
            throw Failure(.badArguments, .giveUp, "`\(DisplayText.line(name))` names no file.")
        }
        guard !name.split(separator: "/").contains("..") else {
            throw Failure(
                .badArguments, .giveUp,
                "The path of a log file has no `..`, so that no inserted value can lead elsewhere: `\(DisplayText.line(name))`.")
        }
        // One spelling for one file: two that rotate it at once would lose what the first put aside.
        let plain = name.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        let isWhole = name.hasPrefix("/")
        let path =
            isWhole ? "/" + plain : baseFolder.isEmpty ? plain : baseFolder + (baseFolder.hasSuffix("/") ? "" : "/") + plain
        return open.withLock { open in
            let place = open.firstIndex { $0.path == path }
            let file = place.map { open.remove(at: $0) } ?? LogFile(path: path, rotation: rotation)
            open.append(file)
            if open.count > Self.capacity { open.removeFirst() }
            return file
        }
    }
}
