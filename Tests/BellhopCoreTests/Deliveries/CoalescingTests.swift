import BellhopCore
import Testing

@Suite struct `Coalesced messages` {
    private func message(_ number: Int) -> Message {
        Message(title: [.value("m\(number)")], mentions: [.user("u\(number)"), .group("team")])
    }

    @Test func `a coalesced message mentions each person once`() {
        let one = Message.coalesced((1...19).map(message))
        #expect(one.mentions.count == 20 && Set(one.mentions).count == 20)
        #expect(one.text == [])
    }

    @Test func `a coalesced message lists at most 20 titles, fewer if they are long, and counts the others`() {
        let one = Message.coalesced((1...60).map(message))
        #expect(one.list?.items.map(\.plainText) == (1...20).map { "m\($0)" } && one.list?.more == 40)
        let long = (1...60).map { Message(title: [.value("\($0) " + String(repeating: "long ", count: 30))]) }
        let items = Message.coalesced(long).list?.items.count ?? 0
        #expect((1..<20).contains(items))
    }

    @Test func `people beyond the limit of mentions are counted in the text`() {
        let one = Message.coalesced((1...30).map(message), as: .keptBack)
        #expect(one.mentions.count == 20)
        #expect(one.text == [.paragraph([.text("Mentions of 11 others are left out.")])])
        #expect(one.list?.items.count == 30)
        let almost = Message.coalesced((1...20).map(message), as: .keptBack)
        #expect(almost.mentions.count == 20)
        #expect(almost.text == [.paragraph([.text("The mention of one other is left out.")])])
    }
}
