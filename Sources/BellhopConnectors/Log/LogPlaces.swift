import BellhopCore
import BellhopFiles
import Glibc

/// The allowed places of log files: below the folder of bellhop.yaml or one of its `log_folders`, but never Bellhop's own files.
///
/// Compares real paths, with links resolved.
public struct LogPlaces: Sendable, Hashable {
    /// The folders below which files may be; an empty text is the current folder.
    var folders: [String]
    /// Bellhop's own files.
    var own: [Own]

    /// One or several of Bellhop's own files.
    public enum Own: Sendable, Hashable {
        /// With the files beside it: temporary files, locks, and those of a database.
        case file(String)
        /// A rule file, or a folder of them.
        case rules(String)
        case folder(String)
    }

    public init(folders: [String], own: [Own] = []) { (self.folders, self.own) = (folders, own) }

    /// The real path, with links resolved. Throws if nothing may be written there; the reason is the end of a sentence.
    func place(of path: String) throws(Refusal) -> String {
        guard let place = Self.real(path) else {
            throw Refusal(reason: "its folder cannot be found (\(SystemError().text))", isRetryable: true)
        }
        guard folders.contains(where: { Self.isBelow(place, Self.real($0.isEmpty ? "." : $0)) }) else {
            throw Refusal(reason: "it is neither in the folder of bellhop.yaml nor in one of its `log_folders`")
        }
        if own.contains(where: { $0.contains(place) }) { throw Refusal(reason: "this file is Bellhop's own") }
        var facts = stat()
        if stat(place, &facts) == 0, isOwn(facts) { throw Refusal(reason: Self.otherNames) }
        return place
    }

    /// The reason why a path must not be written to.
    struct Refusal: Error {
        var reason: String
        /// True if a person can fix it without changing the rule.
        var isRetryable = false
    }

    /// The reason why a path must not be written to, as the end of a sentence; nil if it may be. The file need not exist.
    public func refusal(of path: String) -> String? {
        do throws(Refusal) { _ = try place(of: path) } catch { return error.reason }
        return nil
    }

    static let otherNames = "this file has other names (hard links), which may be Bellhop's own files: copy it, and use the copy"

    /// Whether an open file may be one of Bellhop's own under another name. A file with several hard links counts as one.
    func isOwn(_ facts: stat) -> Bool {
        if facts.st_nlink > 1, facts.st_mode & S_IFMT == S_IFREG { return true }
        return own.contains { own in
            guard case .file(let path) = own else { return false }
            var other = stat()
            return stat(path, &other) == 0 && other.st_ino == facts.st_ino && other.st_dev == facts.st_dev
        }
    }

    /// The real path of an existing or future file: links are resolved as far as the path exists.
    static func real(_ path: String) -> String? {
        var there = path.isEmpty ? "." : path
        var missing: [Substring] = []
        while true {
            if let found = realpath(there, nil) {
                defer { free(found) }
                let base = String(cString: found)
                return missing.isEmpty ? base : (base == "/" ? "" : base) + "/" + missing.reversed().joined(separator: "/")
            }
            guard errno == ENOENT, there != "/", there != "." else { return nil }
            let steps = PathText.steps(of: there)
            guard let last = steps.last else { return nil }
            if last != "." { missing.append(last) }
            let rest = steps.dropLast().joined(separator: "/")
            there = there.hasPrefix("/") ? "/" + rest : rest.isEmpty ? "." : rest
        }
    }

    static func isBelow(_ path: String, _ folder: String?) -> Bool {
        guard let folder else { return false }
        // By bytes: a slash before an accent is one character with it.
        return path.utf8.starts(with: (folder == "/" ? "/" : folder + "/").utf8)
    }
}

extension LogPlaces.Own {
    /// Whether a real path is this file, or would collide with it when files are rotated (`NAME.1`).
    fileprivate func contains(_ place: String) -> Bool {
        switch self {
        case .file(let path):
            guard let own = LogPlaces.real(path) else { return false }
            return Self.collides(place, own, with: ["", ".new", ".lock", "-wal", "-shm", "-journal", ".sock", ".sock.new"])
                || place.hasPrefix(own + ".schema-")
        case .folder(let path): return LogPlaces.isBelow(place, LogPlaces.real(path))
        case .rules(let path):
            let isYAML = place.hasSuffix(".yaml") || place.hasSuffix(".yml")
            guard let pattern = path.firstIndex(where: { "*?[".contains($0) }) else {
                guard let own = LogPlaces.real(path) else { return false }
                return Self.collides(place, own, with: [""]) || isYAML && LogPlaces.isBelow(place, own)
            }
            let fixed = path[..<pattern].lastIndex(of: "/").map { path[..<$0] } ?? ""
            guard let folder = LogPlaces.real(fixed.isEmpty && path.hasPrefix("/") ? "/" : String(fixed)) else { return false }
            let rest = fixed.isEmpty ? path[...] : path[path.index(after: fixed.endIndex)...]
            // Here `*` also matches slashes: matching too much is safer than too little.
            return fnmatch((folder == "/" ? "" : folder) + "/" + rest, place, 0) == 0
        }
    }

    private static func collides(_ place: String, _ own: String, with suffixes: [String]) -> Bool {
        if suffixes.contains(where: { own + $0 == place }) { return true }
        return own.hasPrefix(place + ".") && own.dropFirst(place.count + 1).allSatisfy { $0.isASCII && $0.isNumber }
    }
}
