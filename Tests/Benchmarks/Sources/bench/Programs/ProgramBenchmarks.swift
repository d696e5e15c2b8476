import Glibc

/// Measures whole processes.
enum ProgramBenchmarks {
    static let all = [
        Benchmark(name: "program.rules", summary: "`bellhop check` of 1,000 rules, and an agent ready with them", run: rules),
        Benchmark(name: "program.memory", summary: "anonymous memory of an idle agent with 1,000 tasks") {
            try await IdleMemory.run($0, withConsole: false)
        },
        Benchmark(name: "program.console", summary: "the memory of the same agent with its console on") {
            try await IdleMemory.run($0, withConsole: true)
        },
    ]

    private static func rules(_ bench: Bench) async throws -> [Measurement] {
        let names = ["program.check", "program.ready"]
        guard let program = ProgramUnderTest(bench) else { return ProgramUnderTest.missing(names, bench) }
        // The port is closed: an agent is ready before its first poll.
        let file = try program.configure("thousand", instance: "http://127.0.0.1:9", every: "1m", rules: 1000)
        let store = String(file.dropLast("yaml".count)) + "db"
        var (bare, check, ready): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<bench.repetitions + 2 {
            bare.append(try Stopwatch.seconds { try expect(0, of: program, ["--help"]) })
            check.append(try Stopwatch.seconds { try expect(0, of: program, ["check", "--config", file]) })
            for suffix in ["", "-wal", "-shm"] { unlink(store + suffix) }
            ready.append(try start(program, file))
        }
        let yardstick = Measurement.Yardstick(name: "`bellhop --help`", quantity: .time(bare.median))
        return [
            Measurement(
                names[0], .time(check.median), beside: yardstick, aim: .figure(atMost: 0.1),
                remark: "1,000 rules in as many files, from start to end of the process."),
            Measurement(
                names[1], .time(ready.median), beside: yardstick, aim: .figure(atMost: 0.15),
                remark: "The same rules, from the start of the process with a new store to its READY=1."),
        ]
    }

    private static func expect(_ code: Int32, of program: ProgramUnderTest, _ arguments: [String]) throws {
        let output = program.folder + "/output"
        let ended = try program.start(arguments, output: .file(output)).wait()
        guard ended == code else {
            throw BenchError(
                "bellhop \(arguments.joined(separator: " ")) ended with \(ended): \(Files.read(output + ".errors") ?? "")")
        }
    }

    private static func start(_ program: ProgramUnderTest, _ file: String) throws -> Double {
        let socket = try ReadySocket(program.folder + "/ready")
        var process: Program?
        var isReady = false
        let time = try Stopwatch.seconds {
            process = try program.start(["run", "--config", file], ready: socket, output: .file(program.folder + "/output"))
            isReady = socket.waitUntilReady(atMost: 30)
        }
        process?.stop()
        guard isReady else {
            throw BenchError("bellhop run did not become ready: \(Files.read(program.folder + "/output.errors") ?? "")")
        }
        return time
    }
}
