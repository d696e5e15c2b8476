/// Takes one line, without its newline, for standard output. Throws when it could not be written.
public typealias LogSink = @Sendable (_ line: String) throws -> Void
