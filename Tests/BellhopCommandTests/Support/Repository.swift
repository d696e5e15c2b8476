import Foundation

/// Where the repository and the program under test are.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The program as this build made it.
    static let program: String =
        ProcessInfo.processInfo.environment["BELLHOP_PROGRAM"] ?? root.appending(path: ".build/debug/bellhop").path

    static func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }
}
