package import Logging

/// The log of an HTTP server: only errors, because its lines about starting and stopping do not help the user.
///
/// Leaves out two lines that the library logs as errors if its task is cancelled, because another part of the agent failed. Only their
/// texts distinguish these lines from real errors: they have the same level, and no metadata. Why a server itself cannot listen is thrown.
package struct ServerLog: LogHandler {
    private static let afterCancellation = [
        "Waiting on child channel: CancellationError()", "Server shutdown error: Already closed",
    ]

    private var base: any LogHandler

    private init(_ base: any LogHandler) { self.base = base }

    /// A logger that writes to the same log.
    package static func logger(_ logger: Logger) -> Logger {
        var logger = logger
        logger.handler = ServerLog(logger.handler)
        logger.logLevel = .error
        return logger
    }

    package var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    package var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    package func log(event: LogEvent) {
        if !Self.afterCancellation.contains("\(event.message)") { base.log(event: event) }
    }
}
