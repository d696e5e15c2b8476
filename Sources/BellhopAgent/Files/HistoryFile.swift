/// The lines typed at a prompt, oldest first: a file that only its owner may read.
public struct HistoryFile: Sendable {
    public let path: String
    /// How many lines are kept.
    private let limit: Int

    public typealias FileError = PrivateFile.FileError

    public init(path: String, limit: Int = 500) { (self.path, self.limit) = (path, limit) }

    /// The path of a prompt's history (XDG Base Directory Specification: `$XDG_STATE_HOME`, else `~/.local/state`); nil without a
    /// home folder. The specification says to ignore a relative path in the variable.
    public static func standardPath(_ name: String, environment: [String: String]) -> String? {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/bellhop/\(name)" }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.local/state/bellhop/\(name)" }
    }

    /// The lines; empty without a file.
    public func lines() throws(FileError) -> [String] {
        let bytes = try PrivateFile.read(path) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(limit).map(String.init)
    }

    /// Adds a line to the file's current lines, which another prompt may have changed. Skips an empty line and a repeat
    /// of the last line.
    public func add(_ line: String) throws(FileError) {
        guard !line.isEmpty, !line.contains("\n") else { return }
        try PrivateFile.makeFolder(above: path)
        try PrivateFile.exclusively(path) { () throws(FileError) in
            var lines = try self.lines()
            guard lines.last != line else { return }
            lines.append(line)
            try PrivateFile.write(Array((lines.suffix(limit).joined(separator: "\n") + "\n").utf8), to: path)
        }
    }
}
