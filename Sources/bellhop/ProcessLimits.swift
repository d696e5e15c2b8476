import Glibc

enum ProcessLimits {
    /// Gives closed standard descriptors to /dev/null. Otherwise the next file or socket to be opened, such as the store, would get the number
    /// of standard output, and what is printed would be written there.
    static func occupyStandardDescriptors() {
        // Opened the wrong way round, so that reading and writing still fail.
        for (file, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(file, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Disables core dumps, which would contain passwords and tokens, and keeps this user's other programs from reading our memory.
    static func forbidCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // A crash handler that the kernel pipes dumps to ignores the limit, but not this flag. Swift cannot call C's variadic `prctl`.
        typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = dlsym(nil, "prctl") else { return }
        _ = unsafeBitCast(symbol, to: Prctl.self)(setDumpable, 0, 0, 0, 0)
    }

    /// PR_SET_DUMPABLE (prctl(2)).
    private static let setDumpable: Int32 = 4

    /// Raises the limit of open files and sockets as far as the system allows, so that the console can have thousands of viewers.
    static func allowManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 16_384))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
