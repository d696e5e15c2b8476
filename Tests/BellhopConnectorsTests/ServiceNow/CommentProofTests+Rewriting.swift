import BellhopCore
import BellhopTesting
import Simulator
import Testing

@testable import BellhopConnectors

/// Instances that change the text of journal entries.
extension CommentProofTests {
    static let long =
        "Dear <b>Ms Tuter</b>, call 0049 30 1234567 -- it's \"urgent\"... We look at the printer on floor 7 tomorrow."

    @Test(
        arguments: [TextRewriting.tagsStripped, .digitsMasked, .typography, .textCut(characters: 90)],
        [SimulatedUser.Reading.allowed, .forbidden])
    func `an instance that changes texts gets each comment once, and each is recognized`(
        _ rewriting: TextRewriting, _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        practice.simulation.faults.add(.rewritten(rewriting), times: nil)
        for isLost in [false, true] {
            if isLost { practice.simulation.faults.add(.resetAfter, "POST", path: post) }
            let receipt = try await perform(.comment(Self.long, on: task.id, occasion: "event/\(isLost)"), practice.attempt(1))
            #expect(receipt.reference != nil)
            #expect(receipt.summary.hasPrefix(isLost ? "found written (cut)" : "201, work note"))
            await practice.clock.advance(by: .seconds(60))
        }
        #expect(notes.count == 2)
        #expect(notes.allSatisfy { $0.text != Self.long })
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `an entry that the instance's reply identifies is ours even if its text differs`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        practice.simulation.faults.add(.rewritten(.textCut(characters: 10)), times: nil)
        let receipt = try await perform(.comment(Self.long, on: task.id), practice.attempt(1))
        #expect(receipt.summary.contains("with another text than was sent"))
        #expect(receipt.reference != nil)
        #expect(notes.count == 1)
    }

    @Test func `of several new entries with other texts, the newest is the one that the instance has confirmed`() async throws {
        instance.addNote("By hand", .workNotes, on: task.id, by: "john.doe")
        await practice.clock.advance(by: .seconds(2))
        practice.simulation.faults.add(.rewritten(.textCut(characters: 10)), times: nil)
        let receipt = try await perform(.comment(Self.long, on: task.id), practice.attempt(1))
        #expect(receipt.reference == notes.last?.id)
        #expect(notes.count == 2)
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `if a changed text cannot be proved ours, the delivery is held and not sent again`(
        _ reading: SimulatedUser.Reading
    ) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        practice.simulation.faults.add(.rewritten(.textCut(characters: 10)), times: nil)
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        let delivery = Delivery.comment(Self.long, on: task.id)
        #expect(await failing(delivery, practice.attempt(1))?.remedy == .unknownOutcome)
        await practice.clock.advance(by: .seconds(130))
        let held = await failing(delivery, practice.attempt(2, uncertain: Practice.start))
        #expect(held?.remedy == .hold)
        #expect(held?.message.contains("with another text") == true)
        #expect(notes.count == 1)
        #expect(posts == 1)
    }

    @Test(arguments: [SimulatedUser.Reading.allowed, .forbidden])
    func `a marker at the end of each text proves the comment`(_ reading: SimulatedUser.Reading) async throws {
        instance.changeUser("john.doe") { $0.journal = reading }
        practice.simulation.faults.add(.rewritten(.tagsStripped), times: nil)
        practice.simulation.faults.add(.resetAfter, "POST", path: post)
        let delivery = Delivery.comment("Call <b>back</b>", on: task.id)
        let receipt = try await perform(delivery, practice.attempt(1), settings: ["marker": true])
        #expect(notes.map(\.text) == ["Call back\n\n\(delivery.id.marker)"])
        #expect(delivery.id.marker.wholeMatch(of: /ref [0-9a-f]{6}/) != nil)
        #expect(receipt.reference != nil)
    }
}
