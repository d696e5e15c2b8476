/// One benchmark: measures something and its yardstick in the same run.
struct Benchmark: Sendable {
    /// Its name on the command line.
    var name: String
    var summary: String
    var run: @Sendable (Bench) async throws -> [Measurement]
}

struct Bench: Sendable {
    /// A folder on the measured disk, removed afterwards.
    var folder: String
    /// The program under test, built for release.
    var program: String
    /// The number of repetitions of a measurement; the median counts.
    var repetitions: Int
    /// True for a run that only checks that everything works: sizes are a twentieth.
    var isQuick: Bool

    /// A size, reduced for a quick run.
    func size(_ full: Int) -> Int { isQuick ? max(full / 20, 100) : full }

    /// Reports progress on standard error.
    func say(_ text: String) { Console.note("  … \(text)") }
}

/// The reason why a benchmark failed.
struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
