/// Takes one line, without its newline, for standard output. Returns once it is written, and throws when it could not be.
public typealias LogSink = @Sendable (_ line: String) async throws -> Void
