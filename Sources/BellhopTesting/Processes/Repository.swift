public import Foundation

/// Where the repository and the program under test are.
public enum Repository {
    public static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The program of this build, or the one that `BELLHOP_PROGRAM` names.
    public static let program: String =
        ProcessInfo.processInfo.environment["BELLHOP_PROGRAM"] ?? root.appending(path: ".build/debug/bellhop").path

    public static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
