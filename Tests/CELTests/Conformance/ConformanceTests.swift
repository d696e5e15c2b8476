import Foundation
import Testing

/// The language's own conformance suite, from the folder in CEL_SPEC (cel-spec's tests/simple/testdata).
struct ConformanceTests {
    @Test(.enabled(if: SpecFiles.folder != nil, "CEL_SPEC does not name a folder with the conformance suite"))
    func `every test of the conformance suite passes or is listed as needing protocol buffers`() throws {
        let folder = try #require(SpecFiles.folder)
        let files = try SpecFiles.names(in: folder).filter { $0.hasSuffix(".textproto") }
        #expect(!files.isEmpty, "no .textproto files in \(folder)")
        var total = (passed: 0, failed: 0, skipped: 0)
        var skipped: [String] = []
        let start = ContinuousClock.now
        for file in files {
            let tests = try SpecFiles.tests(in: folder + "/" + file)
            var count = (passed: 0, failed: 0, skipped: 0)
            for test in tests {
                if test.needsProtobuf, SkipList.contains(test.name) {
                    count.skipped += 1
                    skipped.append(test.name)
                    if !SkipList.known.contains(test.name) { print("  skipped, and new: \(test.name)") }
                    continue
                }
                switch outcome(of: test) {
                case .passed: count.passed += 1
                case .failed(let why):
                    count.failed += 1
                    let note = test.needsProtobuf ? " (needs protocol buffers, and is not on the list)" : ""
                    print("  failed: \(test.name): \(test.message.string("expr") ?? "") \(why)\(note)")
                }
            }
            print("\(file): \(count.passed) passed, \(count.failed) failed, \(count.skipped) skipped")
            total = (total.passed + count.passed, total.failed + count.failed, total.skipped + count.skipped)
        }
        let took = ContinuousClock.now - start
        print("all: \(total.passed) passed, \(total.failed) failed, \(total.skipped) skipped, in \(took)")
        #expect(total.failed == 0)
        #expect(took < .seconds(60))
        if getenv("BELLHOP_RECORD") != nil { try SkipList.record(skipped) }
    }

    private func outcome(of test: SpecTest) -> SpecTest.Outcome {
        do { return try test.run() } catch { return .failed("the test cannot be read: \(error)") }
    }

    @Test func `each line of the list of skipped tests has a reason`() {
        #expect(SkipList.entries.allSatisfy { !$0.pattern.isEmpty && !$0.reason.isEmpty })
        #expect(SkipList.known.count > 100)
        #expect(SkipList.known.filter { !SkipList.contains($0) } == [])
    }
}

/// The files of the suite.
enum SpecFiles {
    /// The folder in CEL_SPEC; nil if it is not set.
    static let folder = ProcessInfo.processInfo.environment["CEL_SPEC"].flatMap { $0.isEmpty ? nil : $0 }

    static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    static func tests(in path: String) throws -> [SpecTest] {
        let message = try TextMessage.parse(Array(Data(contentsOf: URL(filePath: path))))
        let file = message.string("name") ?? path
        return message.messages("section").flatMap { section in
            section.messages("test").map { test in
                SpecTest(name: "\(file)/\(section.string("name") ?? "")/\(test.string("name") ?? "")", message: test)
            }
        }
    }
}
