import Logging

extension Logger {
    /// Says nothing, as an agent does that has nothing to warn of.
    static var silent: Logger {
        var logger = Logger(label: "bench")
        logger.logLevel = .critical
        return logger
    }
}
