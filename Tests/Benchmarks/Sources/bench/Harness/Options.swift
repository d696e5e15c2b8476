/// The options of the command line.
struct Options: Sendable {
    var names: [String] = []
    var isJSON = false
    var gates = true
    var isQuick = false
    /// The factor by which the floors are widened.
    var slack = 1.0
    var lists = false
    var repetitions = 3
    var program: String?
    var folder: String?

    static let help = """
        usage: bench [NAME…] [options]
          --list          list the benchmarks
          --json          print JSON
          --no-gate       exit 0 even if a floor is missed
          --quick         small sizes: checks that everything works, measures little
          --smoke         small sizes, once, and floors a hundred times as wide: for a build that is not optimised
          --repeat N      repetitions of each measurement; the median counts (3)
          --program PATH  the program under test (the repository's .build/release/bellhop)
          --folder PATH   the folder for databases, on the disk to measure (TMPDIR, or /tmp)
        A NAME is a benchmark or the beginning of one.
        """

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments)[...]
        func value(of name: String) throws -> String {
            guard let value = rest.popFirst() else { throw BenchError("\(name) wants a value\n\(Self.help)") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--no-gate": gates = false
            case "--quick": isQuick = true
            case "--smoke":
                isQuick = true
                repetitions = 1
                slack = 100
            case "--list": lists = true
            case "--repeat":
                guard let count = Int(try value(of: argument)), count > 0 else { throw BenchError("--repeat wants a number") }
                repetitions = count
            case "--program": program = try value(of: argument)
            case "--folder": folder = try value(of: argument)
            default:
                if argument.hasPrefix("-") { throw BenchError("unknown option \(argument)\n\(Self.help)") }
                names.append(argument)
            }
        }
    }
}
