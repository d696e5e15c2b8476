import BellhopCore
import CAllocations
import CEL
import Glibc

/// Measures the expression language: parsing a rule, evaluating a condition per event, building a digest.
enum ExpressionBenchmarks {
    static let all = [
        Benchmark(name: "cel.compile", summary: "an expression parsed, checked and planned", run: compile),
        Benchmark(
            name: "cel.condition", summary: "a condition beside the same function in Swift, and its allocations", run: condition),
        Benchmark(name: "cel.digest", summary: "filter, map and join over 10,000 tasks", run: digest),
    ]

    // MARK: Compiling

    private static func compile(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(4000)
        let environment = ExpressionMaterial.environment
        let text = ExpressionMaterial.condition
        // JSON with the same number of bytes and about as many words.
        let json = Array(
            #"{"type":"task_created","priority":[2,"<="],"title":{"contains":"disk"},"also":[true,1,null,"x","y",10]}"#.utf8)
        var (parsed, checked, planned, plain): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<(bench.repetitions + 2) {
            parsed.append(try each(count) { _ = try environment.parse(text) })
            checked.append(try each(count) { _ = try environment.check(text, expecting: .bool) })
            plain.append(try each(count) { _ = try JSON.parse(json) })
            planned.append(try each(count) { _ = try environment.compile(text, expecting: .bool) })
        }
        let (parse, check, plan) = (parsed.median, checked.median - parsed.median, planned.median - checked.median)
        return [
            Measurement(
                "cel.parse", .time(parse),
                beside: .init(name: "JSON of \(json.count) bytes, read", quantity: .time(plain.median)),
                aim: .figure(atMost: 50e-6), remark: "`\(text)`, \(text.utf8.count) bytes."),
            Measurement(
                "cel.check", .time(check), beside: .init(name: "parsing it", quantity: .time(parse)), aim: .figure(atMost: 50e-6),
                remark: "The cost that checking adds to parsing."),
            Measurement(
                "cel.plan", .time(plan), beside: .init(name: "parsing and checking it", quantity: .time(parse + check)),
                aim: .figure(atMost: 50e-6), remark: "The cost that planning adds to both."),
        ]
    }

    /// The processor time for one of many expressions.
    private static func each(_ count: Int, _ work: () throws -> Void) rethrows -> Double {
        try Stopwatch.processorSeconds { for _ in 0..<count { try work() } } / Double(count)
    }

    // MARK: A condition

    private static func condition(_ bench: Bench) async throws -> [Measurement] {
        let material = ExpressionMaterial(1000)
        let passes = bench.size(400)
        let environment = ExpressionMaterial.environment
        let program = try environment.compile(ExpressionMaterial.condition, expecting: .bool).program
        let reader = EventReader(material, environment.slots)
        let activation = Activation(environment)
        let expected = material.events.count / 4 * passes
        func pass(_ places: some Sequence<Int>) -> Int {
            var found = 0
            for place in places {
                reader.place = place
                activation.begin(reader)
                if program.holds(activation) { found += 1 }
            }
            return found
        }
        var (ours, plain, searched): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<(bench.repetitions + 2) {
            var counts = [0, 0, 0]
            ours.append(Stopwatch.processorSeconds { for _ in 0..<passes { counts[0] += pass(material.events.indices) } })
            plain.append(Stopwatch.processorSeconds { for _ in 0..<passes { counts[1] += ByHand.count(material.events) } })
            searched.append(
                Stopwatch.processorSeconds { for _ in 0..<passes { counts[2] += ByHand.countBytes(material.events) } })
            guard counts == [expected, expected, expected] else { throw BenchError("\(counts) events matched, not \(expected)") }
        }

        let misses = material.events.indices.filter { $0 % 4 != 3 }
        _ = pass(misses)
        let before = bench_allocations()
        var matched = 0
        for _ in 0..<passes { matched += pass(misses) }
        let made = bench_allocations() - before
        guard matched == 0, try isCounting() else { throw BenchError("allocations are not counted") }

        let events = Double(passes * material.events.count)
        func rate(_ times: [Double]) -> Quantity { .rate(events / times.median, of: "events") }
        return [
            Measurement(
                "cel.condition", rate(ours), beside: .init(name: "the same function in Swift", quantity: rate(plain)),
                aim: .ratio(atLeast: 0.5),
                remark: "`\(ExpressionMaterial.condition)`; the values are read again for each event."),
            Measurement(
                "cel.condition.bytes", rate(ours),
                beside: .init(name: "that function over UTF-8, with memchr and memcmp", quantity: rate(searched)),
                remark:
                    "Reported only: a function for one condition that reads its fields in place, without look-ups and string comparisons."
            ),
            Measurement(
                "cel.allocations", .count(Double(made), of: "allocations"),
                beside: .init(name: "one for each event", quantity: .count(Double(passes * misses.count), of: "allocations")),
                aim: .figure(atMost: 0),
                remark:
                    "\(Quantity.grouped(Double(passes * misses.count))) events that do not match: another type, a low priority, another title."
            ),
        ]
    }

    /// True if the allocation counter sees an array whose size the compiler cannot know.
    private static func isCounting() throws -> Bool {
        let before = bench_allocations()
        let array = [Int](repeating: 1, count: Int(getpid()) % 7 + 3)
        return array.count > 2 && bench_allocations() > before
    }

    // MARK: A digest

    private static func digest(_ bench: Bench) async throws -> [Measurement] {
        let count = bench.size(10_000)
        let material = ExpressionMaterial(count)
        let environment = ExpressionMaterial.environment
        let program = try environment.compile(ExpressionMaterial.digest, expecting: .string).program
        let reader = EventReader(material, environment.slots)
        let activation = Activation(environment)
        let wanted = ByHand.digest(material.events)
        var (ours, plain): ([Double], [Double]) = ([], [])
        for _ in 0..<(bench.repetitions * 5) {
            activation.begin(reader)
            var text: Value = .null
            ours.append(try Stopwatch.processorSeconds { text = try program.evaluate(activation) })
            guard text == .string(wanted) else { throw BenchError("the digest is wrong") }
            var byHand = ""
            plain.append(Stopwatch.processorSeconds { byHand = ByHand.digest(material.events) })
            guard byHand == wanted else { throw BenchError("the digest is wrong") }
        }
        return [
            Measurement(
                "cel.digest", .time(ours.median), beside: .init(name: "the same in Swift", quantity: .time(plain.median)),
                aim: .figure(atMost: 20e-3),
                remark:
                    "`\(ExpressionMaterial.digest)` over \(Quantity.grouped(Double(count))) tasks; \(wanted.utf8.count / 1000) kB of text."
            )
        ]
    }
}
