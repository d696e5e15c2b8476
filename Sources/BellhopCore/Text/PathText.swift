/// The parts of a path, as text: no file is looked at.
public enum PathText {
    /// The folder that contains a path: `.` for a name alone.
    public static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The path up to its last slash, to put before the name of a neighbour: empty for a name alone.
    public static func prefix(of path: String) -> String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }

    /// The part after the last slash.
    public static func name(of path: String) -> Substring {
        path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)
    }
}
