import BellhopCore
import Glibc

/// Where an agent reads rule files: the files, folders and globs of `rules`.
public struct RulePlaces: Sendable {
    private let paths: [String]
    private let project: String

    /// - Parameter project: the folder of bellhop.yaml; empty for the working folder.
    public init(_ paths: [String], in project: String = "") { (self.paths, self.project) = (paths, project) }

    /// The path of a file relative to the project's folder, as under version control; the absolute path of a file elsewhere.
    public func inProject(_ path: String) -> String {
        let (file, folder) = (Self.parts(of: path), Self.parts(of: project))
        let isInside = file.count > folder.count && file.starts(with: folder)
        return isInside ? file.dropFirst(folder.count).joined(separator: "/") : "/" + file.joined(separator: "/")
    }

    /// The parts of the absolute path, without `.` and `..`.
    private static func parts(of path: String) -> [Substring] {
        var whole = path
        if !path.hasPrefix("/"), let pointer = getcwd(nil, 0) {
            whole = String(cString: pointer) + "/" + path
            free(pointer)
        }
        return whole.split(separator: "/").reduce(into: []) { parts, part in
            switch part {
            case ".": break
            case "..": _ = parts.popLast()
            default: parts.append(part)
            }
        }
    }

    /// The folders in which a new file of rules can be made.
    public var folders: [String] {
        var folders: [String] = []
        for path in paths {
            let folder = Self.hasPattern(path) ? PathText.folder(of: path) : Self.trimmed(path)
            if !Self.hasPattern(folder), Self.isFolder(folder), !folders.contains(folder) { folders.append(folder) }
        }
        return folders
    }

    /// Why the agent would not read a new file at this path as rules, as a sentence; nil if it would.
    public func refusal(of path: String) -> String? {
        guard path.hasSuffix(".yaml") || path.hasSuffix(".yml") else {
            return "The name of a rule file ends with .yaml: \(path) does not."
        }
        let name = PathText.name(of: path)
        if name.hasPrefix(".") { return "The agent reads no hidden files: \(String(name).visible) begins with a dot." }
        if name.utf8.count > Self.longestName { return "The name of a rule file has at most \(Self.longestName) bytes." }
        if path.unicodeScalars.contains(where: \.isInvisible) {
            return "The name \(path.visible) has characters that are not shown, such as line ends."
        }
        if RuleFinder.isTest(path) { return "A file whose name ends with .test.yaml has tests, not rules." }
        if Self.isConfiguration(path) { return "A file named bellhop.yaml has a configuration, not rules." }
        guard isRead(path) else {
            let known = folders
            return "The agent reads no rules from \(path)"
                + (known.isEmpty ? "." : ": make the file in \(known.joined(separator: " or ")).")
        }
        if !Self.isFolder(PathText.folder(of: path)) { return "There is no folder \(PathText.folder(of: path))." }
        return nil
    }

    private func isRead(_ path: String) -> Bool {
        paths.contains { place in
            if Self.hasPattern(place) { return fnmatch(Self.pattern(of: place), path, FNM_PATHNAME | FNM_PERIOD) == 0 }
            let start = Self.trimmed(place) + (Self.trimmed(place) == "/" ? "" : "/")
            guard path.hasPrefix(start), Self.isFolder(place) else { return false }
            let parts = path.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
            // Neither hidden folders nor `..`.
            return parts.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") }
        }
    }

    private static func trimmed(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? trimmed(String(path.dropLast())) : path
    }

    /// The most bytes of a file's name. Leaves room for suffixes in the names of files beside it.
    private static let longestName = 200

    /// Whether a path is a glob. The path of something that exists is none: the project's folder may have such characters in its name.
    static func hasPattern(_ path: String) -> Bool {
        guard path.contains(where: { "*?[".contains($0) }) else { return false }
        // A file that a shell has named `*.yaml` must not hide the others.
        return PathText.name(of: path).contains { "*?".contains($0) } || !SharedFile.exists(path)
    }

    /// The folder above the parts of a path that are globs.
    static func folder(above path: String) -> String {
        let folder = PathText.folder(of: path)
        return hasPattern(folder) ? self.folder(above: folder) : folder
    }

    /// A glob as `glob` and `fnmatch` read it: in the folder above, no character stands for another.
    static func pattern(of path: String) -> String {
        let folder = folder(above: path)
        guard path.hasPrefix(folder + "/") else { return path }
        let literal: String = folder.reduce(into: "") { literal, character in
            if "*?[\\".contains(character) { literal.append("\\") }
            literal.append(character)
        }
        return literal + path.dropFirst(folder.count)
    }

    /// Whether a file that is found, not named, is a configuration: the project's folder may have the rules too.
    static func isConfiguration(_ path: String) -> Bool { PathText.name(of: path) == "bellhop.yaml" }

    static func isFolder(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }
}
