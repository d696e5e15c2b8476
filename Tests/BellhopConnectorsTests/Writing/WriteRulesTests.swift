import BellhopCore
import Testing

@testable import BellhopConnectors

/// The next step of an attempt to write, for every combination of earlier attempts and lookups.
@Suite struct WriteRulesTests {
    let rules = WriteRules(noun: "comment", place: "acme", quiet: .seconds(120), foundAtFirst: "there already")
    static let start = Timestamp(seconds: 1000)
    static let proof = Proof("work note 7f", reference: "7f")
    static let lookups: [Lookup] = [.written(proof), .absent, .altered(proof, "another text"), .unprovable("no rights")]

    /// One line of the table: the known facts, the result of the lookup, and the next step.
    struct Line: Sendable, CustomTestStringConvertible {
        var uncertain: Timestamp?
        var decided: Timestamp?
        /// The time since the start of the uncertain attempt.
        var after: Duration
        var lookup: Lookup
        var result: Result
        var testDescription: String { "\(lookup), \(uncertain == nil ? "first" : "uncertain"), after \(after)" }
        enum Result: Sendable, Hashable { case send, done, wait(Duration), hold }
    }

    static let table: [Line] =
        // Nothing was sent before: the request is sent, unless the lookup found the write.
        [Lookup.absent, lookups[2], lookups[3]].map { Line(after: .zero, lookup: $0, result: .send) }
        // An existing write is done, at any time.
        + [.zero, .seconds(119), .days(1)].map { Line(uncertain: start, after: $0, lookup: lookups[0], result: .done) }
        + [Line(after: .zero, lookup: lookups[0], result: .done)]
        // As long as an earlier request may be running, nothing is sent, whatever a person decided.
        + [Lookup.absent, lookups[2], lookups[3]].flatMap { lookup in
            [nil, start].map {
                Line(uncertain: start, decided: $0, after: .seconds(30), lookup: lookup, result: .wait(.seconds(90)))
            }
        }
        // Afterwards it is sent if it is proved absent, or if a person has decided on that very attempt.
        + [
            Line(uncertain: start, after: .seconds(120), lookup: .absent, result: .send),
            Line(uncertain: start, after: .seconds(120), lookup: lookups[2], result: .hold),
            Line(uncertain: start, after: .seconds(120), lookup: lookups[3], result: .hold),
            Line(uncertain: start, decided: start, after: .seconds(120), lookup: lookups[2], result: .send),
            Line(uncertain: start, decided: start, after: .seconds(120), lookup: lookups[3], result: .send),
            Line(uncertain: start, decided: start - .seconds(1), after: .seconds(120), lookup: lookups[3], result: .hold),
        ]

    @Test(arguments: table) func `the first lookup determines the next step of an attempt`(_ line: Line) {
        let now = Self.start + line.after
        var note = WriteNote()
        note.since = line.uncertain
        note.decided = line.decided
        let attempt = Attempt(number: line.uncertain == nil ? 1 : 2, now: now, lastUncertain: line.uncertain)
        let result: Line.Result
        switch rules.step(after: line.lookup, note, attempt) {
        case .send: result = .send
        case .done: result = .done
        case .stop(let failure):
            #expect(failure.reason == .notWritten)
            switch failure.remedy {
            case .retry(let after): result = .wait(after ?? .zero)
            case .hold: result = .hold
            case .rest, .giveUp, .unknownOutcome, .pauseConnection, .pauseReceiver:
                Issue.record("\(failure)")
                return
            }
        }
        #expect(result == line.result)
    }

    @Test func `a person's decision about a replayed write still counts after the wait for an earlier request`() {
        var (note, attempt) = (WriteNote(), Attempt(number: 2, now: Self.start + .seconds(120), firstStarted: Self.start))
        (attempt.replayOf, attempt.lastUncertain) = (.epoch, Self.start)
        func step() -> WriteStep { rules.step(after: Self.lookups[3], note, attempt) }
        if case .stop(let failure) = step() { #expect(failure.remedy == .hold) } else { Issue.record("sent undecided") }
        note.decided = Self.start
        #expect(step() == .send)
    }

    @Test func `a receipt states when the write was made`() throws {
        let now = Self.start
        var note = WriteNote()
        func summary(_ attempt: Attempt) throws -> String? {
            try rules.step(after: .written(Self.proof), note, attempt).receipt?.summary
        }
        #expect(try summary(Attempt(number: 1, now: now)) == "there already, work note 7f")
        #expect(
            try summary(Attempt(number: 1, now: now, mayRepeat: .epoch..<now))
                == "found written before the store was restored or the agent started over, work note 7f")
        note.since = now
        #expect(try summary(Attempt(number: 2, now: now)) == "found written by an earlier attempt, work note 7f")
    }

    @Test func `the first lookup depends on earlier requests of the delivery`() {
        var note = WriteNote()
        let gap = Timestamp.epoch..<Self.start
        func occasion(_ uncertain: Timestamp? = nil) -> LookupOccasion {
            rules.occasion(note, Attempt(number: 2, now: Self.start, lastUncertain: uncertain, mayRepeat: gap))
        }
        #expect(rules.occasion(note, Attempt(number: 1, now: Self.start)) == .first)
        #expect(occasion() == .gap(gap))
        #expect(occasion(Self.start) == .earlier(readSince: Self.start + .seconds(120)))
        note.since = Self.start
        #expect(occasion() == .earlier(readSince: nil))
    }

    // MARK: After a request

    static let lost = Failure(.cut, .unknownOutcome, "The connection was cut.")
    static let forbidden = Failure(.forbidden, .giveUp, "acme does not allow it.")
    static let refused = Failure(.refused, .unknownOutcome, "acme refuses it.")

    static let endings: [(Failure, Lookup, Failure.Remedy?)] =
        [lost, forbidden, refused].map { ($0, lookups[0], nil) } + [
            (lost, .absent, .unknownOutcome), (lost, lookups[2], .unknownOutcome), (lost, lookups[3], .unknownOutcome),
            (forbidden, .absent, .giveUp), (forbidden, lookups[2], .unknownOutcome), (forbidden, lookups[3], .giveUp),
            (refused, .absent, .giveUp), (refused, lookups[2], .unknownOutcome), (refused, lookups[3], .unknownOutcome),
        ]

    @Test(arguments: endings)
    func `after a failed request, a lookup determines how the attempt ends`(
        _ failure: Failure, _ lookup: Lookup, _ remedy: Failure.Remedy?
    ) {
        switch rules.step(after: failure, lookup, mayResend: false) {
        case .send: Issue.record("sent again in the same attempt")
        case .done(let receipt):
            #expect(remedy == nil)
            #expect(receipt == Receipt("found written (\(failure.reason.rawValue)), work note 7f", reference: "7f"))
        case .stop(let end):
            #expect(end.remedy == remedy)
            #expect(end.reason == failure.reason)
        }
    }

    @Test(arguments: lookups) func `a request with an unclear answer is sent again only if a lookup finds nothing`(
        _ lookup: Lookup
    ) {
        switch (lookup, rules.step(after: Self.lost, lookup, mayResend: true)) {
        case (.written, .done), (.absent, .send): break
        case (.altered, .stop(let failure)), (.unprovable, .stop(let failure)): #expect(failure.remedy == .hold)
        case (_, let step): Issue.record("\(step)")
        }
    }

    @Test func `only a failure that may hide a write requires a lookup`() {
        #expect(rules.needsLook(Self.lost) && rules.needsLook(Self.forbidden))
        for (reason, remedy) in [
            (Failure.Reason.notWritten, Failure.Remedy.giveUp), (.badArguments, .giveUp), (.unreachable, .retry(after: nil)),
            (.throttled, .rest(nil)), (.unauthenticated, .pauseConnection), (.forbidden, .hold),
        ] { #expect(!rules.needsLook(Failure(reason, remedy, ""))) }
    }

    @Test func `after a 201 without a write a second lookup follows, and its result is final`() throws {
        var note = WriteNote()
        let steps = (1...2).map { _ in rules.step(afterClaim: "201", ifAbsent: "it is not there", .absent, &note) }
        #expect(
            steps == [
                .stop(Failure(.notWritten, .unknownOutcome, "acme answered 201, but it is not there; Bellhop will look again.")),
                .stop(Failure(.notWritten, .giveUp, "acme answered 201 twice, but it is not there.")),
            ])
        #expect(WriteNote(json: note.json) == note)
        let unconfirmed = rules.step(afterClaim: "201", ifAbsent: "", .unprovable("no rights"), &note)
        #expect(unconfirmed == .done(Receipt("201, not confirmed (no rights)")))
    }
}

@Suite struct DeliveryNoteTests {
    @Test func `a delivery's note is stored under the delivery's id`() async throws {
        let notebook = MemoryNotebook()
        let delivery = Delivery(
            id: .init(occasion: Occasion.ID("event/1"), rule: "r", step: StepPath(index: 0), receiver: "x"), revision: "1",
            action: "update", arguments: .values([:]), task: nil, lane: "r", createdAt: .epoch)
        try await DeliveryNote(of: delivery, in: notebook).keep(WriteNote())
        #expect(Array(notebook.all.keys) == [Delivery.notePrefix + delivery.id.text])
    }
}
