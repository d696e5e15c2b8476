import Testing

@testable import bellhop

/// What counts as a second signal, at exact times: between two signals that a test sends, any time may pass.
@Suite struct FirstSignalTests {
    @Test(arguments: [(0, false), (100, false), (101, true), (60_000, true)])
    func `a signal within a tenth of a second of the first is the same request, and a later one is another`(
        _ milliseconds: Int, _ isAnother: Bool
    ) {
        let (first, start) = (FirstSignal(), ContinuousClock.now)
        #expect(!first.hasCome)
        #expect(!first.record(at: start))
        #expect(first.hasCome)
        #expect(first.record(at: start + .milliseconds(milliseconds)) == isAnother)
    }
}
