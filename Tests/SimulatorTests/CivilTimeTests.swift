import Testing

@testable import Simulator

@Suite struct CivilTimeTests {
    @Test(arguments: [
        (0, "1970-01-01 00:00:00"), (1_767_603_600_000_000, "2026-01-05 09:00:00"), (-1, "1969-12-31 23:59:59"),
        (951_782_399_000_000, "2000-02-28 23:59:59"), (951_782_400_000_000, "2000-02-29 00:00:00"),
        (4_107_542_400_000_000, "2100-03-01 00:00:00"),
    ])
    func `a time is written in the database's form and read back`(_ micros: Int64, _ text: String) {
        #expect(CivilTime.text(micros) == text)
        if micros >= 0 { #expect(CivilTime.read(text) == micros) }
    }

    @Test(arguments: ["", "2026-02-30 00:00:00", "2026-01-05T09:00:00", "2026-1-5 9:0:0"])
    func `an invalid time is refused`(_ text: String) { #expect(CivilTime.read(text) == nil) }

    @Test func `dates have spaces in HTTP and dashes in cookies`() {
        #expect(CivilTime.http(784_111_777_000_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(CivilTime.cookie(10_000_000) == "Thu, 01-Jan-1970 00:00:10 GMT")
    }
}
