import Glibc

/// Core dumps would contain passwords and tokens.
enum CoreDumps {
    /// Disables core dumps, and keeps this user's other programs from reading our memory.
    static func forbid() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // A crash handler that the kernel pipes to ignores the limit, but not this. Swift does not import C's variadic functions.
        typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = dlsym(nil, "prctl") else { return }
        _ = unsafeBitCast(symbol, to: Prctl.self)(setDumpable, 0, 0, 0, 0)
    }

    /// PR_SET_DUMPABLE (prctl(2)).
    private static let setDumpable: Int32 = 4
}
