import BellhopCore
import BellhopRules
import Testing

@Suite struct DeliveryDifferenceTests {
    private func delivery(
        _ event: String, rule: String = "r", text: String = "a", at second: Int64 = 0, action: String = "log",
        initial: Delivery.InitialState = .available, occasion: Occasion.ID? = nil
    ) -> Delivery {
        Delivery(
            id: Delivery.ID(
                occasion: occasion ?? Occasion.event(Event.ID(event)).id, rule: rule, step: StepPath("0"), receiver: "ops"),
            revision: "1", action: action, arguments: .values(["text": .string(text)]), task: nil, lane: "ops",
            createdAt: Timestamp(seconds: second), initial: initial)
    }

    @Test func `equal deliveries are counted and forgotten, whichever side comes first`() {
        var difference = DeliveryDifference()
        difference.add(before: [delivery("a")], after: [])
        #expect(!difference.isEmpty)
        difference.add(before: [delivery("b")], after: [delivery("a"), delivery("b", at: 5)])
        difference.add(before: [], after: [delivery("c")])
        difference.add(before: [delivery("c")], after: [])
        #expect(difference.isEmpty && difference.same == 3)
    }

    @Test func `a delivery with other contents, another action or another initial state is a change`() {
        for other in [delivery("a", text: "b"), delivery("a", action: "webhook"), delivery("a", initial: .shadow)] {
            var difference = DeliveryDifference()
            difference.add(before: [delivery("a")], after: [other])
            #expect(difference.same == 0 && difference.changed.first == [DeliveryOutline(other)])
            #expect(difference.coming.count + difference.going.count == 0 && !difference.isEmpty)
        }
    }

    @Test func `deliveries of only one side are listed as coming or going, by time and then by rule`() {
        var difference = DeliveryDifference()
        difference.add(
            before: [delivery("x", at: 3), delivery("y", at: 1)],
            after: [delivery("z", rule: "b", at: 2), delivery("z", rule: "a", at: 2), delivery("w", at: 1)])
        #expect(difference.going.first.map(\.time.seconds) == [1, 3])
        #expect(difference.coming.first.map(\.rule) == ["r", "a", "b"])
    }

    @Test func `a timer's run is the same even if the event that began it has another place on the bus`() {
        func timer(_ place: Int64) -> Occasion.ID {
            Occasion.timer(.init(rule: "r", kind: .hold, key: "k/1-2"), due: Timestamp(seconds: -5), .event(place)).id
        }
        var difference = DeliveryDifference()
        difference.add(before: [delivery("", occasion: timer(7))], after: [delivery("", occasion: timer(9))])
        #expect(difference.same == 1 && difference.isEmpty)
        #expect(timer(7) != timer(9) && timer(7).withoutPlaces == timer(9).withoutPlaces)
        #expect(timer(7).withoutPlaces.hasSuffix("/-5000000/k/1-2"))
        let step = Occasion.escalation(of: timer(7), step: 1, repetition: 2).id
        func silence(_ place: Int64) -> Occasion.ID {
            Occasion.timer(.init(rule: "r", kind: .absence, key: "k/1+2"), due: Timestamp(seconds: 5), .silence(after: place)).id
        }
        #expect(silence(7) != silence(9) && silence(7).withoutPlaces == silence(9).withoutPlaces)
        #expect(step.withoutPlaces == Occasion.escalation(of: timer(8), step: 1, repetition: 2).id.withoutPlaces)
    }

    @Test func `only the first of many differences are kept, and all are counted`() {
        var difference = DeliveryDifference(most: 3)
        difference.add(before: [], after: (0..<10).map { delivery("n\($0)", at: Int64(10 - $0)) })
        difference.add(before: (0..<5).map { delivery("c\($0)") }, after: (0..<5).map { delivery("c\($0)", text: "b") })
        #expect(difference.coming.count == 10 && difference.coming.first.map(\.time.seconds) == [1, 2, 3])
        #expect(difference.changed.count == 5 && difference.changed.first.count == 3)
        #expect(difference.json["counts"] == ["comes": 10, "goes": 0, "changes": 5])
        #expect(difference.json["comes"]?.asArray?.count == 3)
    }

    @Test func `with too many unmatched deliveries, the oldest count as differences and the newest are still compared`() {
        var difference = DeliveryDifference(most: 100, maxSingles: 10)
        difference.add(before: (0..<11).map { delivery("e\($0)", at: Int64($0)) }, after: [])
        difference.add(before: [], after: [delivery("e0", at: 0), delivery("e10", at: 10)])
        #expect(difference.same == 1)
        #expect(difference.going.first.map(\.time.seconds) == Array(0...9))
        #expect(difference.coming.count == 1)
    }
}
