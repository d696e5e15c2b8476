import BellhopCore
import BellhopFiles
import BellhopTesting
import CDispatch
import Dispatch
import Foundation
import Glibc
import Testing

@testable import bellhop

/// Writing lines for a reader that may stop reading.
@Suite(.timeLimit(.minutes(5))) struct LineWriterTests {
    private static func withPipe(timeout: Duration, _ body: (LineWriter, _ reader: Int32) async throws -> Void) async throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        _ = fcntl(ends[1], 1031, 4096)  // F_SETPIPE_SZ: the smallest possible pipe
        try await body(LineWriter(ends[1], called: "The pipe", timeout: timeout), ends[0])
        close(ends[0])  // ends a write in progress
    }

    private static func read(_ reader: Int32, upTo count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = Glibc.read(reader, &bytes, count)
        return String(decoding: bytes.prefix(max(found, 0)), as: UTF8.self)
    }

    @Test func `lines arrive whole and in order`() async throws {
        try await Self.withPipe(timeout: .seconds(30)) { writer, reader in
            for number in 1...3 { try await writer.write("line \(number)") }
            #expect(Self.read(reader, upTo: 100) == "line 1\nline 2\nline 3\n")
        }
    }

    private static let json = TerminalLog(
        logLevel: LogOptions.Level.info.threshold, format: .json, clock: TestClock(), zone: nil, isForJournal: false)

    @Test func `a line of the log is written at once while none waits for the reader, so that a crash loses none`() {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        let log = LogOutput(ends[1], log: Self.json)
        for line in ["one\n", "two\n"] {
            log.write(line)
            #expect(Self.read(ends[0], upTo: 100) == line)
        }
    }

    @Test func `a log waits for its reader up to a limit, then leaves out lines and says how many, in the format of the log`()
        async throws
    {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let reader = ends[0]
        _ = fcntl(ends[1], 1031, 4096)  // F_SETPIPE_SZ: the smallest possible pipe
        let log = LogOutput(ends[1], log: Self.json, most: 10_000)
        let line = String(repeating: "x", count: 999)
        for _ in 0..<30 { log.write(line + "\n") }
        log.flush(within: .milliseconds(1))
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var text = ""
                while !text.hasSuffix("end\n") { text += Self.read(reader, upTo: 65536) }
                continuation.resume(returning: text)
            }
            Thread.detachNewThread {
                log.flush(within: .seconds(120))
                log.write("end\n")
            }
        }
        let lines = text.split(separator: "\n").map(String.init)
        let count = lines.count { $0 == line }
        #expect((10..<30).contains(count))
        #expect(lines.prefix(count).allSatisfy { $0 == line })
        try #require(lines.count == count + 2 && lines.last == "end")
        #expect(
            try JSON.parse(lines[count]) == [
                "time": "2026-01-05T09:00:00.000000Z", "level": "warning",
                "message": "Lines were left out here, because nothing read the log.", "count": .string("\(30 - count)"),
            ])
    }

    @Test func `lines fail while the reader has stopped, and each line is written once or fails`() async throws {
        signal(SIGPIPE, SIG_IGN)
        try await Self.withPipe(timeout: .milliseconds(200)) { writer, reader in
            let long = String(repeating: "x", count: 100_000)
            let first = await #expect(throws: Failure.self) { try await writer.write(long) }
            #expect(first?.remedy == .retry(after: nil))
            #expect(first?.message.contains("its reader has stopped") == true)
            let start = ContinuousClock.now
            for _ in 1...500 { await #expect(throws: Failure.self) { try await writer.write("refused") } }
            #expect(ContinuousClock.now - start < .seconds(60))
            // Once the reader goes on, the started line is completed and new lines are accepted.
            var text = ""
            while text.utf8.count < 100_001 { text += Self.read(reader, upTo: 65536) }
            #expect(text == long + "\n")
            var isTaken = false
            for _ in 1...100 where !isTaken {
                do {
                    try await writer.write("after")
                    isTaken = true
                } catch { try await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(Self.read(reader, upTo: 100) == "after\n")
        }
    }

    @Test func `cancelling the task of a blocked line ends the write`() async throws {
        signal(SIGPIPE, SIG_IGN)
        try await Self.withPipe(timeout: .seconds(60)) { writer, _ in
            let failures = await withTaskGroup(of: Bool.self) { group in
                for _ in 1...2 {
                    group.addTask {
                        do { try await writer.write(String(repeating: "x", count: 100_000)) } catch { return true }
                        return false
                    }
                }
                group.cancelAll()
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(failures == 2)
        }
    }

    @Test func `reading from a nonblocking descriptor waits for the next byte, and ends when the writer has closed it`() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(reader) }
        #expect(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
        Thread.detachNewThread {
            for byte in "ab".utf8 {
                usleep(20_000)
                try? Descriptor.write([byte], to: writer)
            }
            close(writer)
        }
        let bytes = [Descriptor.readByte(reader), Descriptor.readByte(reader), Descriptor.readByte(reader)]
        #expect(bytes == [UInt8(ascii: "a"), UInt8(ascii: "b"), nil])
    }

    @Test func `a writer to a slow reader of a nonblocking descriptor uses no processor time while it waits`() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(reader) }
        #expect(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
        let bytes = (0..<300_000).map { UInt8($0 % 251) }
        let reading = Task {
            var all: [UInt8] = []
            while all.count < bytes.count {
                // Slower than any writer.
                try await Task.sleep(for: .milliseconds(100))
                var some = [UInt8](repeating: 0, count: 60_000)
                let count = Glibc.read(reader, &some, some.count)
                all += some.prefix(max(count, 0))
            }
            return all
        }
        let spent = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let isWritten = (try? Descriptor.write(bytes, to: writer)) != nil
                close(writer)
                // The first number: the nanoseconds for which this thread has had a processor.
                let facts = try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)
                let time = facts?.split(separator: " ").first.flatMap { Int64($0) }
                continuation.resume(returning: isWritten ? time.map { Duration.nanoseconds($0) } : nil)
            }
        }
        #expect(try await reading.value == bytes)
        let time = try #require(spent)
        #expect(time < .milliseconds(100), "it used \(time) of processor time")
    }
}
