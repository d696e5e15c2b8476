import BellhopCore
import Testing

struct StormGuardTests {
    private struct Poll {
        var known: KnownTasks
        var listing: Listing
        var comparison: Comparison { known.compare(with: listing) }

        init(known: Range<Int>, listed: Range<Int>) throws {
            self.known = KnownTasks(known.map { KnownTask(key: TaskKey("\($0)"), listed: .zero) })
            listing = try Listing(records: listed.map { (TaskKey("\($0)"), .null) })
        }

        func decide(
            previous: HeldResult? = nil, isSecondReading: Bool = false, isBaseline: Bool = false
        ) -> StormGuard.Decision {
            StormGuard().decide(
                known: known, listing: listing, comparison: comparison, previous: previous, isSecondReading: isSecondReading,
                isBaseline: isBaseline)
        }

        var held: HeldResult { HeldResult(known: known.count, listing: listing, comparison: comparison) }
    }

    private static let believed: [(Range<Int>, Range<Int>)] = [
        (0..<100, 0..<100), (0..<100, 50..<100), (0..<100, 0..<200), (0..<19, 18..<19), (0..<5, 0..<19), (0..<10, 10..<20),
        (0..<0, 0..<0),
        (0..<20, 10..<30),
    ]

    @Test(arguments: believed) func `an everyday result is accepted`(_ known: Range<Int>, _ listed: Range<Int>) throws {
        #expect(try Poll(known: known, listed: listed).decide() == .accept)
    }

    private static let doubted: [(Range<Int>, Range<Int>)] = [
        (0..<100, 51..<100), (0..<20, 11..<20), (0..<20, 0..<41), (0..<5, 5..<25), (0..<0, 0..<20), (0..<20, 100..<120),
    ]

    @Test(arguments: doubted) func `a result unlike the last is held until it is shown again`(
        _ known: Range<Int>, _ listed: Range<Int>
    ) throws {
        let poll = try Poll(known: known, listed: listed)
        #expect(poll.decide() == .hold(poll.held))
        #expect(poll.decide(previous: poll.held) == .accept)
        #expect(poll.decide(isBaseline: true) == .accept)
        let other = try Poll(known: known, listed: listed.lowerBound..<listed.upperBound + 1)
        var held = poll.held
        held.polls = 2
        #expect(poll.decide(previous: other.held) == .hold(held))
    }

    @Test func `a list that is suddenly empty is read again at once`() throws {
        let few = try Poll(known: 0..<3, listed: 0..<0)
        #expect(few.decide() == .readAgain)
        #expect(few.decide(isSecondReading: true) == .accept)
        let many = try Poll(known: 0..<30, listed: 0..<0)
        #expect(many.decide() == .readAgain)
        #expect(many.decide(isSecondReading: true) == .hold(many.held))
        #expect(many.decide(previous: many.held) == .accept)
        #expect(try Poll(known: 0..<0, listed: 0..<0).decide() == .accept)
    }

    @Test func `a held result is the same whatever the order, and outlives a restart`() throws {
        var poll = try Poll(known: 0..<30, listed: 40..<80)
        let held = poll.held
        poll.listing = try Listing(records: (40..<80).reversed().map { (TaskKey("\($0)"), .null) })
        #expect(poll.held == held)
        #expect(HeldResult(json: held.json) == held)
        #expect((held.known, held.listed, held.new, held.gone) == (30, 40, 40, 30))
        #expect(HeldResult(json: ["fingerprint": "no"]) == nil)
        #expect(try Poll(known: 40..<80, listed: 0..<30).held != held)
    }
}
