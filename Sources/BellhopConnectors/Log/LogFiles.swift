import BellhopCore
import Synchronization

/// The files that rules write to, each opened once.
///
/// A class with a lock, because deliveries that write to the same file must share it.
final class LogFiles: Sendable {
    /// The limit of open files, because rules can compute file names from values.
    private static let capacity = 32

    private let baseFolder: String
    private let places: LogPlaces
    private let rotation: LogRotation
    private let writer = LogWriter()
    /// In order of last use.
    private let open = Mutex<[LogFile]>([])

    init(baseFolder: String, places: LogPlaces, rotation: LogRotation) {
        self.baseFolder = baseFolder
        self.places = places
        self.rotation = rotation
    }

    /// Returns once the line is on disk in the file of that name, relative to the base folder.
    func append(_ line: [UInt8], to name: String) async throws(Failure) {
        try await writer.append(line, to: try file(name))
    }

    private func file(_ name: String) throws(Failure) -> LogFile {
        guard !name.isEmpty, !name.hasSuffix("/"), !name.utf8.contains(0) else {
            throw Failure(.badArguments, .giveUp, "`\(DisplayText.line(name))` is not a file name.")
        }
        guard !name.split(separator: "/").contains("..") else {
            throw Failure(
                .badArguments, .giveUp,
                "A log file's path must not contain `..`, because values could lead elsewhere: `\(DisplayText.line(name))`.")
        }
        let path: String
        do throws(LogPlaces.Refusal) {
            // The real path, so that each file is open once: two rotations at the same time would lose a rotated file.
            path = try places.place(of: ConnectorEnvironment.path(name, in: baseFolder))
        } catch {
            throw Failure(
                error.isRetryable ? .fileSystem : .badArguments, error.isRetryable ? .retry(after: nil) : .giveUp,
                "`\(DisplayText.line(name))` is not a place for a log: \(error.reason).")
        }
        return open.withLock { open in
            let place = open.firstIndex { $0.path == path }
            let file = place.map { open.remove(at: $0) } ?? LogFile(path: path, rotation: rotation, places: places)
            open.append(file)
            if open.count > Self.capacity { open.removeFirst() }
            return file
        }
    }
}
