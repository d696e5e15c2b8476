import Foundation
import Testing

/// A folder deleted at the end of the test. A class, so that its deinit can delete it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "bellhop-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path): \(error)") }
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// The permission bits of a file in the folder.
    func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
