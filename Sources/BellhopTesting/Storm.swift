#if canImport(Glibc)
    import Glibc
#endif

/// A seed from outside for what runs at random: the same tests, another course of things.
///
/// Without `BELLHOP_SEED` random tests run what they always run, so that a change alone decides whether they pass.
public enum Storm {
    public static let seed = getenv("BELLHOP_SEED").flatMap { UInt64(String(cString: $0)) }

    /// The seed of one course in this storm; the usual one where there is none.
    public static func seed(_ usual: UInt64) -> UInt64 {
        guard let seed else { return usual }
        return seed &* 1_000_000_000 &+ usual
    }

    /// How many courses of a kind are run: `BELLHOP_HISTORIES`, or the usual number.
    public static func count(_ usual: Int) -> Int {
        getenv("BELLHOP_HISTORIES").flatMap { Int(String(cString: $0)) } ?? usual
    }
}
