import CEL
import Glibc
import Testing

/// The language's own conformance suite, from the folder in CEL_SPEC (cel-spec's tests/simple/testdata).
struct ConformanceTests {
    @Test(.enabled(if: SpecFiles.folder != nil, "CEL_SPEC does not name a folder with the conformance suite"))
    func `every test of the conformance suite passes or is listed as needing protocol buffers`() throws {
        let folder = try #require(SpecFiles.folder)
        let files = SpecFiles.names(in: folder).filter { $0.hasSuffix(".textproto") }
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

/// The files of the suite, read without Foundation.
enum SpecFiles {
    /// The folder in CEL_SPEC; nil if it is not set.
    static let folder = getenv("CEL_SPEC").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }

    struct Unreadable: Error { let path: String }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.sorted()
    }

    static func read(_ path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Unreadable(path: path) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(file, &part, part.count)
            guard count >= 0 else { throw Unreadable(path: path) }
            if count == 0 { return bytes }
            bytes += part[..<count]
        }
    }

    static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Unreadable(path: path) }
        defer { fclose(file) }
        guard fputs(text, file) >= 0 else { throw Unreadable(path: path) }
    }

    static func tests(in path: String) throws -> [SpecTest] {
        let message = try TextMessage.parse(read(path))
        let file = message.string("name") ?? path
        return message.messages("section").flatMap { section in
            section.messages("test").map { test in
                SpecTest(name: "\(file)/\(section.string("name") ?? "")/\(test.string("name") ?? "")", message: test)
            }
        }
    }
}
