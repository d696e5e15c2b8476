import Foundation
import Testing

/// The texts that reached something new in runs of the fuzzer, as Tests/Fuzz keeps them.
struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz/Corpus/YAML")
        .standardizedFileURL

    static let names: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

    @Test func `the corpus is there`() {
        #expect(Self.names.count >= 100)
    }

    @Test func `each seed is refused with a place, or read so that every value is found again`() throws {
        for name in Self.names {
            let bytes = Array(try Data(contentsOf: Self.folder.appending(path: name)))
            #expect(Trial.problem(of: bytes) == nil, "\(name): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
