import BellhopConnectors
import BellhopCore
import BellhopTesting
import Foundation
import Testing

/// The cookbook's script that checks a signature, as a program.
struct SignatureScript {
    private static let python = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    static let canRun = python != nil

    private let folder: TemporaryFolder
    private var path: String { folder.path + "/check.py" }

    init() throws {
        folder = try TemporaryFolder()
        let listing = try #require(try DocumentationPage("Rules-cookbook").listings.first { $0.language == "python" })
        try #require(listing.text.split(separator: "\n").count <= 10)
        let script =
            listing.text + """

                import sys

                headers = dict(zip(["webhook-id", "webhook-timestamp", "webhook-signature"], sys.argv[2:5]))
                sys.exit(0 if is_genuine(sys.argv[1], headers, sys.argv[5].encode()) else 3)

                """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Whether the script accepts a body with these header fields.
    func accepts(_ secret: String, _ headers: HeaderFields, _ body: String) throws -> Bool {
        let names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
        let arguments = [path, secret] + names.map { headers[$0] ?? "" } + [body]
        let process = try ChildProcess(try #require(Self.python), arguments, environment: ProcessInfo.processInfo.environment)
        let code = process.waitUntilExit()
        try #require(code == 0 || code == 3, "the script ended with \(code)")
        return code == 0
    }
}
