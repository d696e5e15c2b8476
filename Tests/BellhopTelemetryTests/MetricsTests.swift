import BellhopCore
import BellhopTesting
import Metrics
import Testing

@testable import BellhopTelemetry

@Suite struct `Metrics as text` {
    private static let asked = Instrument(
        "test_asked_total", .counter, labels: [.init("who"), .init("how", ["well", "badly"])], "Asked.")
    private static let held = Instrument(
        "test_held_bytes", .gauge, unit: .bytes, labels: [.init("who")], "Held: a \\ and a \" \nin it.")
    private static let took = Instrument(
        "test_took_seconds", .histogram([0.1, 1]), unit: .seconds, labels: [.init("who")], "Took.")

    @Test(arguments: MetricsFormat.allCases)
    func `labels and values are equal after writing and reading, whatever the labels' text`(
        _ format: MetricsFormat
    ) async throws {
        let registry = MetricsRegistry([Self.asked, Self.took], most: 10_000, clock: TestClock())
        var random = SeededRandom(seed: RandomRuns.seed(4))
        let pieces = [
            "\\", "\"", "\n", "\\n", "{", "}", ",", "=", " ", "#", "\u{0}", "\r", "\t", "é", "🛎️", "x", "\u{2028}", "# EOF\n",
        ]
        var texts = HostileTexts.all.filter { $0.utf8.count <= 200 } + [""]
        for _ in 0..<RandomRuns.count(300) {
            texts.append((0..<Int.random(in: 1...8, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined())
        }
        // Texts that look alike to Swift are one label.
        let distinct = Array(Set(texts))
        for (place, text) in distinct.enumerated() {
            Self.asked.counter(text, "well", in: registry).increment(by: place + 1)
            Self.took.timer(text, in: registry).record(duration: .milliseconds(place))
        }
        let shown = distinct.enumerated().map { MetricsSnapshot.Sample(Self.held, $1, value: Double($0) / 3) }
        let families = try ExpositionReader(registry.snapshot(with: shown).text(format), format).families
        let isOpen = format == .openMetrics
        let asked = try #require(families[isOpen ? "test_asked" : "test_asked_total"])
        let held = try #require(families["test_held_bytes"])
        let took = try #require(families["test_took_seconds"])
        #expect(asked.type == "counter" && held.type == "gauge" && took.type == "histogram")
        #expect(held.help == "Held: a \\ and a \" \nin it." && held.unit == (isOpen ? "bytes" : nil))
        #expect(asked.samples.count == distinct.count)
        for (place, text) in distinct.enumerated() {
            #expect(
                asked.samples.first { $0.labels == ["who": text, "how": "well"] }?.value == Double(place + 1),
                "\(text.debugDescription)")
            #expect(held.samples.first { $0.labels == ["who": text] }?.value == Double(place) / 3)
            let sum = try #require(took.samples.first { $0.name.hasSuffix("_sum") && $0.labels["who"] == text })
            #expect(abs(sum.value - Double(place) / 1000) < 1e-9)
        }
    }

    @Test func `numbers of every size are read back, also those that are not finite`() async throws {
        let numbers = [0, -0.0, 1e-300, 1.5e300, 0.1, 1 / 3, 123_456_789_012, .infinity, -.infinity, .leastNonzeroMagnitude]
        for format in MetricsFormat.allCases {
            let registry = MetricsRegistry([], clock: TestClock())
            let shown = numbers.enumerated().map { MetricsSnapshot.Sample(Self.held, String($0), value: $1) }
            let held = try ExpositionReader(registry.snapshot(with: shown).text(format), format).families["test_held_bytes"]
            for (place, number) in numbers.enumerated() {
                #expect(held?.samples.first { $0.labels["who"] == String(place) }?.value == number)
            }
        }
    }

    @Test func `the buckets of a histogram are cumulative, and OpenMetrics names the trace of the latest value in each`()
        async throws
    {
        let clock = TestClock()
        let registry = MetricsRegistry([Self.took], clock: clock)
        let trace = TraceID(of: Event.ID("5d1f0a6bc2e45d1f0a6bc2e45d1f0a6b"))
        Self.took.timer("a", in: registry).record(duration: .milliseconds(100))
        let context = TraceContext(trace, SpanID(rootOf: trace), isSampled: true)
        TraceContext.$current.withValue(context) { Self.took.timer("a", in: registry).record(duration: .milliseconds(500)) }
        Self.took.timer("a", in: registry).record(duration: .seconds(7))
        #expect(
            registry.snapshot().text(.openMetrics) == """
                # HELP test_took_seconds Took.
                # TYPE test_took_seconds histogram
                # UNIT test_took_seconds seconds
                test_took_seconds_bucket{who="a",le="0.1"} 1
                test_took_seconds_bucket{who="a",le="1.0"} 2 # {trace_id="5d1f0a6bc2e45d1f0a6bc2e45d1f0a6b",span_id="\(context.span.text)"} 0.5 1767603600.000
                test_took_seconds_bucket{who="a",le="+Inf"} 3
                test_took_seconds_count{who="a"} 3
                test_took_seconds_sum{who="a"} 7.6
                # EOF

                """)
        #expect(!registry.snapshot().text(.prometheus).contains("trace_id"))
    }

    @Test func `names beyond the limit are counted as other`() async throws {
        let registry = MetricsRegistry([Self.asked], most: 20, clock: TestClock())
        for number in 0..<100 {
            Self.asked.counter("name \(number)", number.isMultiple(of: 2) ? "well" : "badly", in: registry).increment()
            Self.asked.counter("name 0", "unheard of", in: registry).increment()
        }
        let shown = (0..<100).map { MetricsSnapshot.Sample(Self.held, "name \($0)", value: 1) }
        let families = try ExpositionReader(registry.snapshot(with: shown).text(.openMetrics), .openMetrics).families
        for name in ["test_asked", "test_held_bytes"] {
            let samples = families[name]?.samples ?? []
            #expect(samples.count <= 23, "\(name)")
            #expect(samples.map(\.value).reduce(0, +) == (name == "test_asked" ? 200 : 100))
            #expect(samples.contains { $0.labels["who"] == "other" && $0.value > 10 })
        }
        #expect(families["test_asked"]?.samples.first { $0.labels == ["who": "name 0", "how": "other"] }?.value == 100)
        let long = MetricsRegistry([Self.asked], clock: TestClock())
        Self.asked.counter(String(repeating: "a", count: 1 << 20), "well", in: long).increment()
        #expect(long.snapshot().text(.prometheus).utf8.count < 1000)
    }

    @Test func `zero counts of expected names leave room for counted names`() async throws {
        let registry = MetricsRegistry([Self.asked], most: 20, clock: TestClock())
        for number in 0..<100 { registry.addZeros(of: Self.asked, for: "name \(number)") }
        Self.asked.counter("name 99", "well", in: registry).increment()
        let samples =
            try ExpositionReader(registry.snapshot().text(.openMetrics), .openMetrics).families["test_asked"]?.samples ?? []
        #expect(samples.contains { $0.labels["who"] == "name 0" && $0.value == 0 })
        #expect(samples.contains { $0.labels["who"] == "name 99" && $0.value == 1 })
    }

    @Test func `concurrent threads lose no count and create each series once`() async throws {
        let registry = MetricsRegistry([Self.asked, Self.took], most: 64, clock: TestClock())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<2000 {
                        Self.asked.counter("name \(number % 50)", "well", in: registry).increment()
                        Self.took.timer("name", in: registry).record(duration: .milliseconds(1))
                    }
                }
            }
        }
        let families = try ExpositionReader(registry.snapshot().text(.prometheus), .prometheus).families
        let samples = families["test_asked_total"]?.samples ?? []
        #expect(samples.count == 50 && samples.allSatisfy { $0.value == 320 })
        let took = families["test_took_seconds"]?.samples ?? []
        #expect(took.first { $0.name.hasSuffix("_count") }?.value == 16_000)
        #expect(abs((took.first { $0.name.hasSuffix("_sum") }?.value ?? 0) - 16) < 1e-6)
    }

    @Test func `a metric that no instrument declares is discarded`() async {
        let registry = MetricsRegistry([Self.asked], clock: TestClock())
        Counter(label: "unknown_total", dimensions: [], factory: registry).increment()
        Counter(label: "test_asked_total", dimensions: [("who", "a")], factory: registry).increment()
        Counter(label: "test_asked_total", dimensions: [("who", "a"), ("whom", "b")], factory: registry).increment()
        Timer(label: "test_asked_total", dimensions: [("who", "a"), ("how", "well")], factory: registry).recordSeconds(1)
        Counter(label: "test_asked_total", dimensions: [("how", "well"), ("who", "a")], factory: registry).increment(by: 2)
        Counter(label: "test_asked_total", dimensions: [("how", "well"), ("who", "a")], factory: registry).increment(by: -1)
        #expect(
            registry.snapshot().text(.prometheus) == """
                # HELP test_asked_total Asked.
                # TYPE test_asked_total counter
                test_asked_total{who="a",how="well"} 2

                """)
    }

    @Test(arguments: [
        (nil, MetricsFormat.prometheus), ("", .prometheus), ("*/*", .prometheus), ("text/html", .prometheus),
        ("application/openmetrics-text", .openMetrics),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
        ("application/openmetrics-text; version=0.0.1", .prometheus),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            .openMetrics
        ),
        ("application/openmetrics-text;q=0.3, text/plain;q=0.4", .prometheus), ("application/openmetrics-text;q=0", .prometheus),
    ])
    func `the format follows the reader's Accept header`(_ accept: String?, _ format: MetricsFormat) {
        #expect(MetricsFormat(accept: accept) == format)
    }
}

@Suite struct `The catalogue of metrics` {
    @Test func `each metric has a unique name with its unit and suffix`() {
        var names: Set<String> = []
        for instrument in Instrument.all {
            let name = instrument.name
            #expect(name.hasPrefix("bellhop_") || name.hasPrefix("process_"))
            #expect(name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0 &- UInt8(ascii: "a") < 26 }, "\(name)")
            #expect(name.hasSuffix("_total") == (instrument.kind == .counter), "\(name)")
            #expect(name.hasSuffix("_info") == (instrument.kind == .info), "\(name)")
            if let unit = instrument.unit { #expect(instrument.family.hasSuffix("_" + unit.rawValue), "\(name)") }
            #expect(instrument.unit != nil || !["_seconds", "_bytes"].contains { instrument.family.hasSuffix($0) }, "\(name)")
            #expect(instrument.help.hasSuffix("."), "\(name)")
            for taken in Set(instrument.sampleNames + [instrument.family]) { #expect(names.insert(taken).inserted, "\(taken)") }
            if case .histogram(let bounds) = instrument.kind { #expect(bounds == Set(bounds).sorted(), "\(name)") }
        }
    }

    @Test(arguments: MetricsFormat.allCases)
    func `a new registry shows the zeros of all counters whose labels are known`(_ format: MetricsFormat) async throws {
        let registry = MetricsRegistry(clock: TestClock())
        let families = try ExpositionReader(registry.snapshot().text(format), format).families
        let breaker = families[format == .openMetrics ? "bellhop_breaker" : "bellhop_breaker_total"]
        #expect(breaker?.samples.map(\.value) == [0, 0, 0])
        #expect(families["bellhop_route_seconds"]?.samples.isEmpty == false)
    }
}
