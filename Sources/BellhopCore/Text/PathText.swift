/// The parts of a path, or of another text with slashes. No file is looked at.
///
/// Looks at bytes, because a slash before an accent is one character with it.
public enum PathText {
    /// The folder that contains a path: `.` for a name alone.
    public static func folder(of path: String) -> String {
        guard let slash = lastSlash(path) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The path up to its last slash, to put before the name of a neighbour: empty for a name alone.
    public static func prefix(of path: String) -> String { String(path[..<nameStart(path)]) }

    /// The part after the last slash.
    public static func name(of path: String) -> Substring { path[nameStart(path)...] }

    /// The parts between the slashes, except empty ones.
    public static func steps(of path: some StringProtocol) -> [Substring] {
        Substring(path).utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    private static func nameStart(_ path: String) -> String.Index {
        lastSlash(path).map(path.utf8.index(after:)) ?? path.startIndex
    }

    private static func lastSlash(_ path: String) -> String.Index? { path.utf8.lastIndex(of: UInt8(ascii: "/")) }
}
