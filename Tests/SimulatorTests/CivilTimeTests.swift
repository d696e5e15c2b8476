import Testing

@testable import Simulator

@Suite struct CivilTimeTests {
    @Test func `dates have spaces in HTTP and dashes in cookies`() {
        #expect(CivilTime.http(784_111_777_000_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(CivilTime.cookie(10_000_000) == "Thu, 01-Jan-1970 00:00:10 GMT")
    }
}
