import Foundation
import Testing

/// The inputs kept from runs of the fuzzer in Tests/Fuzz, because they reached new code.
struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz/Corpus/YAML")
        .standardizedFileURL

    static let names: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

    @Test func `the corpus exists`() { #expect(Self.names.count >= 100) }

    @Test func `each seed is refused with a place, or read with a correct place for every value`() throws {
        for name in Self.names {
            let bytes = Array(try Data(contentsOf: Self.folder.appending(path: name)))
            #expect(Trial.problem(of: bytes) == nil, "\(name): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
