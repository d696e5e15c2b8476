import BellhopCore
import Testing

struct StormGuardTests {
    private static let now = Timestamp(seconds: 1_767_600_000)

    private struct Poll {
        var known: KnownTasks
        var listing: Listing
        let now = StormGuardTests.now
        var comparison: Comparison { known.compare(with: listing) }

        init(known: Range<Int>, listed: Range<Int>) throws {
            self.known = KnownTasks(known.map { KnownTask(key: TaskKey("\($0)"), listed: .zero) })
            listing = try Listing(records: listed.map { (TaskKey("\($0)"), .null) })
        }

        func decide(previous: HeldResult? = nil, isSecondList: Bool = false, isBaseline: Bool = false) -> StormGuard.Ruling {
            StormGuard().decide(
                known: known, listing: listing, comparison: comparison, previous: previous, isSecondList: isSecondList,
                isBaseline: isBaseline, at: now)
        }

        var held: HeldResult { HeldResult(known: known.count, listing: listing, comparison: comparison, at: now) }
    }

    private static let believed: [(Range<Int>, Range<Int>)] = [
        (0..<100, 0..<100), (0..<100, 50..<100), (0..<100, 0..<200), (0..<19, 18..<19), (0..<5, 0..<19), (0..<10, 10..<20),
        (0..<0, 0..<0), (0..<20, 10..<30),
    ]

    @Test(arguments: believed) func `a result with few changes is accepted`(_ known: Range<Int>, _ listed: Range<Int>) throws {
        #expect(try Poll(known: known, listed: listed).decide() == .accept)
    }

    private static let doubted: [(Range<Int>, Range<Int>)] = [
        (0..<100, 51..<100), (0..<20, 11..<20), (0..<20, 0..<41), (0..<5, 5..<25), (0..<0, 0..<20), (0..<20, 100..<120),
    ]

    @Test(arguments: doubted) func `a result with many differences is held until the next poll shows it again`(
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
        #expect(few.decide(isSecondList: true) == .accept)
        let many = try Poll(known: 0..<30, listed: 0..<0)
        #expect(many.decide() == .readAgain)
        #expect(many.decide(isSecondList: true) == .hold(many.held))
        #expect(many.decide(previous: many.held) == .accept)
        #expect(try Poll(known: 0..<0, listed: 0..<0).decide() == .accept)
    }

    @Test func `a held result is recognized in any order and after a restart`() throws {
        var poll = try Poll(known: 0..<30, listed: 40..<80)
        let held = poll.held
        poll.listing = try Listing(records: (40..<80).reversed().map { (TaskKey("\($0)"), .null) })
        #expect(poll.held == held)
        #expect(HeldResult(json: held.json) == held)
        #expect((held.known, held.listed, held.new, held.gone) == (30, 40, 40, 30))
        #expect(HeldResult(json: ["fingerprint": "no"]) == nil)
        #expect(try Poll(known: 40..<80, listed: 0..<30).held != held)
    }

    @Test func `without storm protection, a suddenly empty list is read again and then accepted`() throws {
        let poll = try Poll(known: 0..<30, listed: 0..<0)
        let off = StormGuard(mayHold: false)
        let decisions = [false, true].map { isSecondList in
            off.decide(
                known: poll.known, listing: poll.listing, comparison: poll.comparison, previous: nil,
                isSecondList: isSecondList, isBaseline: false, at: Self.now)
        }
        #expect(decisions == [.readAgain, .accept])
        #expect(off.decide(unproved(30), alike(500), previous: nil, at: Self.now, result: poll.held) == .accept)
    }

    // MARK: After reading details

    private func alike(_ count: Int, _ fields: String...) -> AlikeChanges {
        AlikeChanges(fields: fields.isEmpty ? ["state"] : fields, tasks: count)
    }

    private func unproved(_ count: Int) -> Departures {
        Departures(asked: (0..<count).map { TaskKey("\($0)") }, details: Details(), isListEmpty: true)
    }

    @Test func `an empty list that no record explains is accepted after five minutes`() throws {
        let poll = try Poll(known: 0..<3, listed: 0..<0)
        func decide(after seconds: Int64, previous: HeldResult?) -> StormGuard.Ruling {
            let now = Self.now + .seconds(seconds)
            return StormGuard().decide(
                unproved(3), nil, previous: previous, at: now,
                result: HeldResult(known: 3, listing: poll.listing, comparison: poll.comparison, after: previous, at: now))
        }
        #expect(decide(after: 0, previous: nil) == .hold(poll.held))
        var second = poll.held
        second.polls = 2
        #expect(decide(after: 299, previous: poll.held) == .hold(second))
        #expect(decide(after: 300, previous: poll.held) == .accept)
        // The held list had tasks in it, so this list has only just become empty.
        var full = poll.held
        full.listed = 40
        #expect(decide(after: 300, previous: full) != .accept)
    }

    @Test func `the same change in more than a hundred tasks is held until the next poll shows it again`() throws {
        let poll = try Poll(known: 0..<200, listed: 0..<200)
        func decide(_ alike: AlikeChanges, previous: HeldResult?) -> StormGuard.Ruling {
            StormGuard().decide(
                Departures(asked: [], details: Details(), isListEmpty: false), alike, previous: previous, at: Self.now,
                result: HeldResult(known: 200, listing: poll.listing, comparison: poll.comparison, after: previous, at: Self.now))
        }
        #expect(decide(alike(100), previous: nil) == .accept)
        var held = poll.held
        (held.fields, held.changed) = (["state"], 101)
        #expect(decide(alike(101), previous: nil) == .hold(held))
        #expect(decide(alike(101), previous: held) == .accept)
        #expect(decide(alike(150), previous: held) == .accept, "the same change, in more tasks")
        (held.fields, held.changed, held.polls) = (["priority"], 101, 2)
        var before = held
        (before.fields, before.polls) = (["state"], 1)
        #expect(decide(alike(101, "priority"), previous: before) == .hold(held))
        before.polls = 4
        #expect(decide(alike(101, "priority"), previous: before) == .accept, "the fifth poll in a row")
    }

    // MARK: Records

    @Test func `tasks have left if their own records say so`() {
        let keys = ["a", "b", "c", "d", "e"].map { TaskKey($0) }
        let details = Details(departures: [keys[1]: .closed, keys[2]: .gone, keys[3]: .unknown], remaining: [keys[0]])
        let full = Departures(asked: Array(keys[..<4]), waiting: [keys[4]], details: details, isListEmpty: false)
        #expect(full.gone == [keys[1], keys[2], keys[3]])
        #expect(Set(full.kept) == [keys[0], keys[4]])
        // A list without an existing task is not evidence about the others.
        let empty = Departures(asked: Array(keys[..<4]), waiting: [keys[4]], details: details, isListEmpty: true)
        #expect(empty.gone == [keys[1], keys[2]])
        #expect(Set(empty.kept) == [keys[0], keys[3], keys[4]])
        #expect(!full.isUnproved && !empty.isUnproved)
        #expect(
            empty.notice(of: "work", isListEmpty: true)
                == "The list of source work is empty, but the record of 1 task says that it is still there, so this list is ignored."
        )
        #expect(
            full.notice(of: "work", isListEmpty: false)
                == "The list of source work is not complete: the record of 1 task says that it is still there. The next poll reads the whole list again."
        )
    }

    @Test(arguments: [(RemovalReason.gone, true), (.unknown, true), (.closed, false), (.leftQuery, false)])
    func `an empty list is explained by a record that shows where its task went`(_ reason: RemovalReason, _ isUnproved: Bool) {
        let keys = [TaskKey("a"), TaskKey("b")]
        let departures = Departures(
            asked: keys, details: Details(departures: [keys[0]: reason, keys[1]: .gone]), isListEmpty: true)
        #expect(departures.gone == keys)
        #expect(departures.isUnproved == isUnproved)
    }

    @Test func `a list that may be truncated removes no task without a record that explains it`() {
        let keys = [TaskKey("a"), TaskKey("b")]
        let details = Details(departures: [keys[0]: .unknown, keys[1]: .unknown])
        #expect(Departures(asked: keys, details: details, isListEmpty: false, mayBeCut: true).isUnproved)
        #expect(!Departures(asked: keys, details: details, isListEmpty: false).isUnproved)
        #expect(!Departures(asked: [], details: Details(), isListEmpty: false, mayBeCut: true).isUnproved)
    }

    @Test func `an empty list whose tasks still exist stays held as the same result at the next poll`() throws {
        let poll = try Poll(known: 0..<30, listed: 0..<0)
        let keys = poll.comparison.gone
        let departures = Departures(asked: keys, details: Details(remaining: Set(keys)), isListEmpty: true)
        let rest = StormGuard().stillHeld(of: departures, listed: 0, previous: poll.held, at: Self.now + .seconds(60))
        #expect(rest == poll.held)
        #expect(poll.decide(previous: rest) == .accept)
        #expect(StormGuard(mayHold: false).stillHeld(of: departures, listed: 0, previous: nil, at: Self.now) == nil)
    }

    // MARK: Empty first lists

    @Test func `the tasks hidden by an empty first list are those made before it, if they are many`() {
        let baseline = EmptyBaseline(since: Self.now)
        func tasks(_ range: Range<Int>, made: Timestamp? = nil) -> [Snapshot] {
            range.map { number in
                var task = Snapshot(key: TaskKey("\(number)"))
                if let made { task.fields["made"] = .string(made.rfc3339) }
                return task
            }
        }
        #expect(baseline.hidden(among: tasks(0..<5), created: "made") == [])
        #expect(baseline.hidden(among: tasks(0..<6), created: "made").count == 6)
        #expect(baseline.hidden(among: tasks(0..<200, made: Self.now), created: "made") == [])
        let both = tasks(0..<6, made: Self.now - .seconds(1)) + tasks(6..<10, made: Self.now + .seconds(1))
        #expect(baseline.hidden(among: both, created: "made") == Set((0..<6).map { TaskKey("\($0)") }))
        #expect(!baseline.isConfirmed(at: Self.now + .seconds(299)))
        #expect(baseline.isConfirmed(at: Self.now + .seconds(300)))
    }
}
