import Glibc

/// Images of this process's memory, which hold passwords and tokens.
enum CoreDumps {
    /// Lets no crash write one, and lets no other program of this user read our memory.
    static func forbid() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // A handler of crashes that the kernel pipes to is not bound by the limit, but by this. Variadic functions of C are not imported.
        typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = dlsym(nil, "prctl") else { return }
        _ = unsafeBitCast(symbol, to: Prctl.self)(setDumpable, 0, 0, 0, 0)
    }

    /// PR_SET_DUMPABLE (prctl(2)).
    private static let setDumpable: Int32 = 4
}
