import Logging

extension Logger {
    /// Logs nothing, like an agent without warnings.
    static var silent: Logger {
        var logger = Logger(label: "bench")
        logger.logLevel = .critical
        return logger
    }
}
