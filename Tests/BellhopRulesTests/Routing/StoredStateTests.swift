import BellhopCore
import Testing

@testable import BellhopRules

/// The forms of schema 1, written out: they are read for ever, whatever is written later.
@Suite struct `The stored form of the state of rules` {
    @Test func `an event of a window of form 1 is read`() throws {
        let json = try JSON.parse(
            """
            {"at":5000000,"source":"my-work","subject":"https://a/k","event":7,"task":"k","element":{"id":"e1","number":"INC1",\
            "title":"t","type":"","class":"","url":"","source":"my-work","labels":{},"fields":{"priority":1}},"distinct":"x",\
            "joined":6000000,"entry":1,"part":"p","replayed":8000000}
            """)
        let one = try #require(Gathered(name: "event/e", json: json))
        #expect(one.at == Timestamp(seconds: 5) && one.source == "my-work" && one.subject == "https://a/k")
        #expect(one.event == 7 && one.task?.text == "k" && one.element?.number == "INC1")
        #expect(one.element?.fields == ["priority": 1])
        #expect(one.distinct == "x" && one.joined == Timestamp(seconds: 6))
        #expect(one.entry == 1 && one.part == "p")
        #expect(one.replayed == Timestamp(seconds: 8))
        #expect(one.json == json)
        let least = try #require(Gathered(name: "", json: ["at": 1, "source": "s", "subject": "u", "later": 1]))
        #expect(least.event == nil && least.task == nil && least.element == nil && least.entry == nil)
    }

    @Test func `a wait of form 1 is read`() throws {
        let json = try JSON.parse(
            """
            {"at":5000000,"source":"my-work","subject":"https://a/k","event":7,"run":"event/e","due":9000000,"ran":true,"after":4}
            """)
        let wait = try #require(Wait(json))
        #expect(wait.began.name == "event/e" && wait.began.event == 7 && wait.due == Timestamp(seconds: 9))
        #expect(wait.hasRun && wait.after == 4)
        #expect(wait.json == json)
        let least = try #require(Wait(["at": 1, "source": "s", "subject": "u", "due": 2]))
        #expect(!least.hasRun && least.after == nil)
    }

    @Test func `an escalation of form 1 is read`() throws {
        let json = try JSON.parse(
            """
            {"at":5000000,"source":"my-work","subject":"https://a/k","event":7,"task":"k","run":"event/e","version":"ab12",\
            "turns":[[1,9000000],null],"key":"x","since":3000000,"answered":true,"shadow":true,"more":true,"closes":10000000,\
            "pagers":[{"receiver":"ops","thread":"INC1","lane":"l","held":["d1"],"open":false}]}
            """)
        let underWay = try #require(ActiveEscalation(json))
        #expect(underWay.began.task?.text == "k" && underWay.run.text == "event/e" && underWay.version == "ab12")
        #expect(underWay.turns == [ActiveEscalation.Turn(repetition: 1, due: Timestamp(seconds: 9)), nil])
        #expect(underWay.key == "x" && underWay.since == Timestamp(seconds: 3))
        #expect(underWay.closes == Timestamp(seconds: 10))
        #expect(underWay.isAnswered && underWay.isShadow && underWay.hasMore)
        #expect(
            underWay.alerts
                == [OpenAlert(receiver: "ops", thread: "INC1", lane: "l", opened: .init(held: ["d1"], isOpen: false))])
        #expect(underWay.json == json)
    }

    @Test func `the run that once and throttle remember in form 1 is read`() throws {
        let run = try #require(EarlierRun("5000000 event/e"))
        #expect(run.at == Timestamp(seconds: 5) && run.occasion.text == "event/e")
    }
}
