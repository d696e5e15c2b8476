import Foundation
import Testing

/// The inputs kept from runs of the fuzzer in Tests/Fuzz, because they reached new code.
struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz/Corpus/CEL")
        .standardizedFileURL

    static let names: [String] = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

    @Test func `the corpus exists`() { #expect(Self.names.count >= 400) }

    @Test(arguments: stride(from: 0, to: names.count, by: 50).map { $0..<min($0 + 50, names.count) })
    func `each seed is refused with a place, or has equal planned and observed results`(_ part: Range<Int>) throws {
        for name in Self.names[part] {
            let bytes = Array(try Data(contentsOf: Self.folder.appending(path: name)))
            #expect(Trial.problem(of: bytes) == nil, "\(name): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
