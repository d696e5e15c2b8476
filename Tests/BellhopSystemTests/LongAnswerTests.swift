import BellhopCore
import BellhopStore
import BellhopTesting
import Foundation
import Glibc
import Testing

/// Answers of the control socket that are far larger than any buffer on their way.
@Suite(.timeLimit(.minutes(10)), .closing) struct LongAnswerTests {
    /// The number of rows; `BELLHOP_ROWS=100000` is for measurements by hand.
    private static let rows = ProcessInfo.processInfo.environment["BELLHOP_ROWS"].flatMap { Int($0) } ?? 20_000

    /// The peak memory of a running process, in kibibytes.
    private static func peak(of process: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// A store with this many deliveries, which are never due.
    private static func fill(_ path: String) async throws {
        let store = try Stores.open(path)
        // Recent enough to be kept.
        let time = Timestamp(seconds: Int64(Date.now.timeIntervalSince1970))
        let occasion = Occasion.event(Event.ID("1")).id
        for start in stride(from: 0, to: rows, by: 1000) {
            let deliveries = (start..<min(start + 1000, rows)).map { number in
                Delivery(
                    id: Delivery.ID(occasion: occasion, rule: "tell", step: StepPath("\(number)"), receiver: "log"),
                    revision: "1", action: "log",
                    arguments: .values(["text": .string("number \(number) " + String(repeating: "x", count: 500))]), task: nil,
                    lane: "\(number)", createdAt: time, initial: .shadow)
            }
            try await store.route(Routing(deliveries: deliveries))
        }
        try await store.close()
    }

    @Test(arguments: [[], ["--json"]])
    func `a slow reader gets all rows once and in order, and no process holds them all`(_ form: [String]) async throws {
        let stage = try await Stage.set(rules: "rule: a\non: task_created\ndo: [{log: x}]\n")
        try await Self.fill(stage.folder.path + "/bellhop.db")
        let agent = try stage.start(["run"])
        try await eventually("it polls") { agent.errorsSoFar.contains("The source was polled") }
        let before = try #require(Self.peak(of: agent.id))
        let pipe = stage.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        try #require(reader >= 0)
        defer { close(reader) }
        let asked = try stage.start(
            ["deliveries", "--limit", "1000000"] + form, under: ["/bin/sh", "-c", "exec \"$@\" > pipe", "sh"])

        var (numbers, line, own) = ([Int](), [UInt8](), 0)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var pauses = 0
        while true {
            let count = read(reader, &buffer, buffer.count)
            if count < 0, errno == EAGAIN || errno == EINTR {
                try await Task.sleep(for: .milliseconds(1))
                continue
            }
            if count == 0 {
                // The other end has not opened the pipe yet, or closed it.
                if !asked.isRunning { break }
                try await Task.sleep(for: .milliseconds(1))
                continue
            }
            for byte in buffer[..<max(count, 0)] {
                if byte != UInt8(ascii: "\n") {
                    line.append(byte)
                    continue
                }
                let text = String(decoding: line, as: UTF8.self)
                if let number = text.firstRange(of: "number ") {
                    numbers.append(Int(text[number.upperBound...].prefix { $0.isNumber }) ?? -1)
                }
                line.removeAll(keepingCapacity: true)
                if numbers.count / 4000 > pauses {
                    pauses += 1
                    own = max(own, Self.peak(of: asked.id) ?? 0)
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
        }
        let ended = await asked.end()
        #expect(ended.code == 0, "\(ended.errors)")
        let isWhole = numbers == Array(0..<Self.rows)
        #expect(isWhole, "\(numbers.count) rows came, the first of them \(numbers.first ?? -1)")
        let after = try #require(Self.peak(of: agent.id))
        print("\(Self.rows) rows \(form): the command had at most \(own) kB, the agent \(before) kB before and \(after) kB after")
        // A row is 700 bytes in JSON, so all rows are 14 MB of text, and several times that as values.
        #expect(own > 0 && own < 48_000, "the command had \(own) kB")
        #expect(after - before < 24_000, "the agent had \(before) kB before and \(after) kB after")
        #expect(await agent.stop().code == 0)
    }
}
