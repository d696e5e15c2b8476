/// Writes one line, without its newline, to standard output. Returns once it is written, and throws if it could not be.
public typealias LogSink = @Sendable (_ line: String) async throws -> Void
