import BellhopCore
import Testing

struct `HTTP dates` {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "sun, 6 nov 1994 08:49:37 gmt",
    ])
    func `HTTP dates are read in all three forms`(_ text: String) {
        #expect(Timestamp(httpDate: text) == "1994-11-06T08:49:37Z")
    }

    @Test func `HTTP dates of deleted cookies are read`() {
        #expect(Timestamp(httpDate: "Thu, 01-Jan-1970 00:00:10 GMT") == Timestamp(seconds: 10))
    }

    @Test func `HTTP dates are written in the preferred form`() {
        #expect(Timestamp("1994-11-06T08:49:37.9Z").httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a year of two digits is at most fifty years ahead`() {
        let now: Timestamp = "2026-06-01T00:00Z"
        #expect(Timestamp(httpDate: "Monday, 01-Jun-76 00:00:00 GMT", now: now) == "2076-06-01T00:00Z")
        #expect(Timestamp(httpDate: "Monday, 01-Jun-76 00:00:01 GMT", now: now) == "1976-06-01T00:00:01Z")
        #expect(Timestamp(httpDate: "Monday, 01-Jun-99 00:00:00 GMT", now: "2098-01-01T00:00Z") == "2099-06-01T00:00Z")
        #expect(Timestamp(httpDate: "Monday, 01-Jun-10 00:00:00 GMT", now: "2098-01-01T00:00Z") == "2110-06-01T00:00Z")
        #expect(Timestamp(httpDate: "Monday, 01-Jun-69 00:00:00 GMT") == "2069-06-01T00:00Z")
        #expect(Timestamp(httpDate: "Monday, 01-Jun-70 00:00:00 GMT") == "1970-06-01T00:00Z")
    }

    @Test(arguments: [
        "", "120", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun Nov  6 08:49:37 94 GMT",
    ])
    func `invalid HTTP dates are refused`(_ text: String) { #expect(Timestamp(httpDate: text) == nil) }
}
