public import BellhopCore
public import BellhopRules
import BellhopFiles
import Glibc

/// Finds and reads rule files: files, folders and globs.
public enum RuleFinder {
    /// The result for some paths.
    public struct Found: Sendable {
        public var rules: [RuleFile] = []
        public var tests: [RuleFile] = []
        /// The folders to watch: a change in them can change the rules.
        public var folders: [String] = []
        /// The names in these folders that matter besides those of rule files: links on the way to the rules, what is missing there, and
        /// files that `rules` names.
        var names: Set<String> = []
        public var problems = Diagnostics()

        /// A fingerprint of all files found: the same for the same rules.
        var fingerprint: Fingerprint {
            var builder = FingerprintBuilder()
            for file in rules {
                builder.add(file.path)
                builder.add(file.bytes)
            }
            for problem in problems.all { builder.add(problem.message) }
            return builder.fingerprint
        }
    }

    /// Reads the files at these paths. A folder stands for all rule files in it and below; a file may have any name. Folders and globs
    /// leave out a bellhop.yaml.
    /// - Parameter isImplicit: true for the default folder, which may be missing.
    public static func find(_ paths: [String], isImplicit: Bool = false) -> Found {
        var found = Found()
        var seen: Set<String> = []
        for path in paths {
            let isPattern = RulePlaces.hasPattern(path)
            let expanded = isPattern ? expand(RulePlaces.pattern(of: path)) : [path]
            if expanded.isEmpty {
                found.problems.report(
                    Diagnostic(.warning, code: "no-rules", "no file matches \(path)", help: "check `rules:` in bellhop.yaml"))
            }
            if isPattern { found.folders += foldersToMatch(path) }
            for path in expanded where !isPattern || !RulePlaces.isConfiguration(path) {
                take(path, isImplicit: isImplicit, isNamed: true, &found, &seen)
            }
        }
        return found
    }

    private static func take(_ path: String, isImplicit: Bool, isNamed: Bool, _ found: inout Found, _ seen: inout Set<String>) {
        if isNamed || SharedFile.isLink(path) { watchWay(to: path, &found) }
        var facts = stat()
        guard stat(path, &facts) == 0 else {
            let severity: Diagnostic.Severity = isImplicit ? .warning : .error
            found.problems.report(
                Diagnostic(
                    severity, code: "no-rules", "there is no file or folder `\(path)`",
                    help: isImplicit
                        ? "`bellhop init` writes example rules"
                        : "name a rule file, or a folder with rules; `bellhop init` writes examples"))
            return
        }
        guard seen.insert("\(facts.st_dev)/\(facts.st_ino)").inserted else { return }
        if facts.st_mode & S_IFMT == S_IFDIR {
            found.folders.append(path)
            guard let names = Folder.names(in: path) else {
                found.problems.report(
                    Diagnostic(
                        code: "unreadable", "the folder \(path) cannot be read: \(SystemError().text)",
                        help: "let the user who runs Bellhop read it"))
                return
            }
            for name in names where !name.hasPrefix(".") && !RulePlaces.isConfiguration(name) {
                let inner = path.hasSuffix("/") ? path + name : "\(path)/\(name)"
                if isYAML(name) || RulePlaces.isFolder(inner) {
                    take(inner, isImplicit: isImplicit, isNamed: false, &found, &seen)
                }
            }
            return
        }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            found.problems.report(Diagnostic(code: "unreadable", "\(path) is not a regular file, so it is not read"))
            return
        }
        do throws(PrivateFile.FileError) {
            guard let bytes = try PrivateFile.readAny(path, limit: 8 << 20) else { return }
            let file = RuleFile(path: path, bytes: bytes)
            if isTest(path) { found.tests.append(file) } else { found.rules.append(file) }
        } catch {
            found.problems.report(Diagnostic(code: "unreadable", error.message))
        }
    }

    /// The folders in which a new file or folder can match a glob.
    private static func foldersToMatch(_ pattern: String) -> [String] {
        let folder = PathText.folder(of: pattern)
        guard RulePlaces.hasPattern(folder) else { return [folder] }
        return expand(RulePlaces.pattern(of: folder)).filter { RulePlaces.isFolder($0) && access($0, R_OK) == 0 }
            + foldersToMatch(folder)
    }

    /// Watches the folders of the links on the way to a path, and the folder of the file at its end, or of what is missing there: watching
    /// a folder shows neither that a link to it was replaced, nor that the target of a link in it has changed.
    private static func watchWay(to path: String, _ found: inout Found) {
        var place = path
        var folders: [String] = []
        func watch(_ path: String) {
            folders.append(PathText.folder(of: path))
            found.names.insert(String(PathText.name(of: path)))
        }
        for _ in 0..<maxLinks {
            guard let (link, rest) = SharedFile.firstLink(on: place), let target = SharedFile.target(of: link) else {
                if !RulePlaces.isFolder(place) { watch(SharedFile.firstMissing(on: place) ?? place) }
                break
            }
            watch(link)
            place = (target.hasPrefix("/") ? target : PathText.prefix(of: link) + target) + rest
        }
        // A folder that may be passed through, but not be read, cannot be watched.
        found.folders += folders.filter { access($0, R_OK) == 0 }
    }

    /// As many links as the system follows.
    private static let maxLinks = 40

    /// These paths, and those of the test files of each rule file among them.
    public static func withTests(_ paths: [String]) -> [String] {
        paths.flatMap { path in
            let isRuleFile = isYAML(path) && !isTest(path)
            return [path] + (isRuleFile ? testPaths(of: path).filter { FileIdentity(of: $0) != nil } : [])
        }
    }

    /// The paths that the test files of a rule file can have: `a.test.yaml` beside `a.yaml`.
    static func testPaths(of path: String) -> [String] {
        let name = PathText.name(of: path)
        let stem = name.prefix(upTo: name.lastIndex(of: ".") ?? name.endIndex)
        return ["yaml", "yml"].map { "\(PathText.prefix(of: path))\(stem).test.\($0)" }
    }

    /// The rule file at a path; nil if it cannot be read.
    public static func read(_ path: String) -> RuleFile? {
        guard let bytes = try? PrivateFile.readAny(path, limit: 8 << 20) else { return nil }
        return RuleFile(path: path, bytes: bytes)
    }

    static func isTest(_ path: String) -> Bool { path.hasSuffix(".test.yaml") || path.hasSuffix(".test.yml") }

    private static func isYAML(_ name: String) -> Bool { name.hasSuffix(".yaml") || name.hasSuffix(".yml") }

    private static func expand(_ pattern: String) -> [String] {
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(pattern, 0, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).compactMap { index in result.gl_pathv[index].map { String(cString: $0) } }
    }
}
