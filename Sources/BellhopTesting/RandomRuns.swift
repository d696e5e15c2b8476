#if canImport(Glibc)
    import Glibc
#endif

/// The seed of random tests, and how many times each runs; the environment can change both.
///
/// Without `BELLHOP_SEED`, random tests always use the same numbers, so that only code changes decide whether they pass.
public enum RandomRuns {
    public static let seed = getenv("BELLHOP_SEED").flatMap { UInt64(String(cString: $0)) }

    /// The seed of one run; the usual one without `BELLHOP_SEED`.
    public static func seed(_ usual: UInt64) -> UInt64 {
        guard let seed else { return usual }
        return seed &* 1_000_000_000 &+ usual
    }

    /// How many runs to make: `BELLHOP_HISTORIES`, or the usual number; without a seed a third of it, because runs that are always the same
    /// find nothing new.
    public static func count(_ usual: Int) -> Int {
        getenv("BELLHOP_HISTORIES").flatMap { Int(String(cString: $0)) } ?? (seed == nil ? max(usual / 3, 1) : usual)
    }
}
