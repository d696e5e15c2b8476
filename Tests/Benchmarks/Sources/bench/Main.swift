import BellhopCore
import CMalloc
import Glibc

/// Measures the agent's hot paths, each against a yardstick from the same run.
@main enum Main {
    static let benchmarks: [Benchmark] =
        PollBenchmarks.all + TableBenchmarks.all + StoreBenchmarks.all + StoreTrials.all + RoutingBenchmarks.all
        + WaitingBenchmarks.all + ExplainBenchmarks.all + BackTestBenchmarks.all + ExpressionBenchmarks.all
        + WebhookBenchmarks.all + InboundBenchmarks.all + ViewerBenchmarks.all + PageBenchmarks.all + ProgramBenchmarks.all

    static func main() async {
        // As the agent does.
        keep_freed_memory()
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            if options.lists {
                for benchmark in benchmarks { Console.data("\(benchmark.name): \(benchmark.summary)") }
                return
            }
            let report = try await run(options)
            Console.data(options.isJSON ? report.json.text : report.text)
            if options.gates, !report.passes { exit(1) }
        } catch {
            Console.note("bench: \(error)")
            exit(64)
        }
    }

    private static func run(_ options: Options) async throws -> Report {
        let chosen = benchmarks.filter { benchmark in
            options.names.isEmpty || options.names.contains { benchmark.name.hasPrefix($0) }
        }
        guard !chosen.isEmpty else { throw BenchError("there is no such benchmark: see bench --list") }
        let parent = options.folder ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let folder = try Files.makeTemporaryFolder(in: parent)
        defer { Files.remove(folder) }
        var report = Report(
            loadBefore: Machine.load, loadAfter: 0, cores: Machine.cores, syncTime: try Machine.syncTime(in: folder))
        for (number, benchmark) in chosen.enumerated() {
            Console.note("\(benchmark.name): \(benchmark.summary)")
            let own = "\(folder)/\(number)"
            try Files.makeFolder(own)
            defer { Files.remove(own) }
            let bench = Bench(
                folder: own, program: options.program ?? ProgramUnderTest.standard, repetitions: options.repetitions,
                isQuick: options.isQuick)
            do {
                report.measurements += try await benchmark.run(bench).map { $0.widened(by: options.slack) }
            } catch {
                report.measurements.append(.missing(benchmark.name, "failed: \(error)"))
            }
        }
        report.loadAfter = Machine.load
        return report
    }
}
