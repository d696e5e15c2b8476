#if canImport(Glibc)
    import Glibc
#endif

/// An external seed for random tests: the same tests take another course.
///
/// Without `BELLHOP_SEED`, random tests always take the same course, so that only code changes decide whether they pass.
public enum Storm {
    public static let seed = getenv("BELLHOP_SEED").flatMap { UInt64(String(cString: $0)) }

    /// The seed of one course; the usual one without `BELLHOP_SEED`.
    public static func seed(_ usual: UInt64) -> UInt64 {
        guard let seed else { return usual }
        return seed &* 1_000_000_000 &+ usual
    }

    /// How many courses to run: `BELLHOP_HISTORIES`, or the usual number.
    public static func count(_ usual: Int) -> Int {
        getenv("BELLHOP_HISTORIES").flatMap { Int(String(cString: $0)) } ?? usual
    }
}
