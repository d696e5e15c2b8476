import BellhopCore
import Testing

/// The permanent names of occasions.
@Suite struct OccasionTests {
    private static let event = Event.ID("0123abcd")
    private static let timer = RuleTimer.ID(rule: "r", kind: .hold, key: "my-work/a/b+1-2")

    static let all: [Occasion] = {
        let direct: [Occasion] = [
            .event(event), .element(of: event, key: "a/b"), .element(of: event, key: "\u{301}a/b"),
            .replay(of: event, at: Timestamp(seconds: 7)),
            .timer(timer, due: Timestamp(seconds: 5)), .timer(timer, due: Timestamp(seconds: 5), .event(12)),
            .timer(timer, due: Timestamp(seconds: -5), .event(12, replayed: Timestamp(seconds: 9))),
            .timer(timer, due: Timestamp(seconds: 5), .silence(after: 12)),
            .timer(.init(rule: "r", kind: .group, key: "\u{301}a/b"), due: Timestamp(seconds: 5), .event(12)),
        ]
        return direct + direct.flatMap { [.escalation(of: $0.id, step: 2, repetition: 3), .escalationEnd(of: $0.id)] }
    }()

    @Test(arguments: all) func `an occasion is read from its name`(_ occasion: Occasion) {
        #expect(Occasion(occasion.id) == occasion)
    }

    @Test(arguments: ["", "event", "timer/hold/r/x/k", "timer/none/r/5/k", "escalation/1/x", "replay/e", "other/x"])
    func `a text that is not the name of an occasion is refused`(_ text: String) {
        #expect(Occasion(Occasion.ID(text)) == nil)
    }

    @Test(arguments: all) func `the name of a run contains its event, if it is of one`(_ occasion: Occasion) {
        let isOfTimer = if case .timer? = Occasion(occasion.id.run) { true } else { false }
        #expect(occasion.id.event == (isOfTimer ? nil : Self.event))
    }

    @Test func `the name of a run contains the event that began its wait, also in the name of an escalation`() {
        let begun = Occasion.timer(Self.timer, due: Timestamp(seconds: 5), .event(12, replayed: Timestamp(seconds: 9))).id
        for id in [begun, Occasion.escalation(of: begun, step: 0, repetition: 0).id] {
            #expect(id.begun == 12 && id.replayed == Timestamp(seconds: 9) && id.due == Timestamp(seconds: 5))
            #expect(id.run == begun && id.lastBefore == nil)
        }
        let silence = Occasion.timer(Self.timer, due: Timestamp(seconds: 5), .silence(after: 12)).id
        #expect(silence.begun == nil && silence.lastBefore == 12 && silence.wait == Self.timer.key)
    }
}
