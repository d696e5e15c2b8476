public import BellhopCore

/// Writes one line, without its newline, to standard output. Returns once it is written, and throws if it could not be.
public typealias LogSink = @Sendable (_ line: String) async throws -> Void

/// Writes a line to standard output or to a file.
///
/// A delivery is done once its line is on disk, or accepted by standard output. Lines in JSON contain the delivery's name, so
/// that a duplicate can be recognized if the process ended before the delivery was recorded as done.
public struct LogAction: Action {
    public static let manifest = ActionManifest(
        kind: "log", summary: "Writes a line to standard output or to a file.", receiver: .local("file"), shorthand: "text",
        arguments: [
            Setting("text", .text, required: true, "The text of the line."),
            Setting("level", .oneOf(LogEntry.Level.allCases.map(\.rawValue)), default: "info", "The level of the line."),
            Setting("file", .path, "The file to append to, created if missing; by default standard output."),
            Setting(
                "format", .oneOf(LogEntry.Format.allCases.map(\.rawValue)), default: "text",
                "Whether to write a line of text or of JSON."),
            Setting("fields", .map(.json), "Further facts, by name."),
        ])

    private let sink: LogSink
    private let files: LogFiles

    /// - Parameters:
    ///   - baseFolder: the folder that file names are relative to; empty for the current folder.
    ///   - places: where files may be; by default below the base folder.
    ///   - sink: receives the lines for standard output.
    public init(baseFolder: String, places: LogPlaces? = nil, rotation: LogRotation = LogRotation(), sink: @escaping LogSink) {
        self.sink = sink
        files = LogFiles(baseFolder: baseFolder, places: places ?? LogPlaces(folders: [baseFolder]), rotation: rotation)
    }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let arguments = try delivery.values()
        let format = arguments["format"]?.asString.flatMap(LogEntry.Format.init(rawValue:)) ?? .text
        let line = LogEntry(arguments, delivery: delivery, at: attempt.now).line(format)
        guard let name = arguments["file"]?.asString else {
            do {
                try await sink(line)
            } catch let failure as Failure {
                throw failure
            } catch {
                throw Failure(.fileSystem, .retry(after: nil), "Standard output cannot be written: \(error).")
            }
            return Receipt("printed")
        }
        try await files.append(Array((line + "\n").utf8), to: name)
        return Receipt("appended to \(DisplayText.line(name))")
    }
}
