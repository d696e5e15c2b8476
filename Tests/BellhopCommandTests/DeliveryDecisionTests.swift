import BellhopCore
import Testing

@testable import bellhop

@Suite struct `Decisions on many deliveries` {
    private static let ids = (1...25).map { "delivery \($0)" }

    /// Decides on 25 deliveries, ten at once; the piece with this number fails.
    private func decide(
        failing piece: Int?
    ) async -> (changed: Int64, refused: Int64, decided: [JSON], error: CommandError?) {
        var pieces = 0
        return await DeliveryDecision.decide(Self.ids, atOnce: 10) { some throws(CommandError) in
            pieces += 1
            if pieces == piece { throw CommandError(StoreError(.full, "The disk is full.")) }
            return ["changed": .int(Int64(some.count - 1)), "refused": 1, "deliveries": .array(some.map(JSON.string))]
        }
    }

    @Test func `all deliveries are decided, ten at once`() async {
        let (changed, refused, decided, error) = await decide(failing: nil)
        #expect(changed == 22 && refused == 3 && decided == Self.ids.map(JSON.string))
        #expect(error?.message == nil)
    }

    @Test func `an error says how many deliveries were not changed, and earlier changes count`() async {
        let first = await decide(failing: 1)
        #expect(first.error?.message == "The disk is full. Nothing was changed.")
        #expect(first.changed == 0 && first.decided.isEmpty)
        let last = await decide(failing: 3)
        #expect(last.error?.message == "The disk is full. The other 5 deliveries were not changed.")
        #expect(last.error?.code == .inputOutput)
        #expect(last.changed == 18 && last.decided == Self.ids.prefix(20).map(JSON.string))
    }
}
