import BellhopCore
import Testing

struct `Timestamps` {
    static let readable: [(String, String)] = [
        ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00.000000Z"),
        ("2026-01-05t10:00:00.25+01:00", "2026-01-05T09:00:00.250000Z"),
        ("2026-01-05T09:00:00.1234569z", "2026-01-05T09:00:00.123456Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"),
        ("2017-01-01T00:59:60.5+01:00", "2017-01-01T00:00:00.000000Z"),
        ("2024-02-29T23:30:00-00:45", "2024-03-01T00:15:00.000000Z"),
    ]

    @Test(arguments: readable)
    func `RFC 3339 is read and written back in UTC with six digits`(_ text: String, _ canonical: String) throws {
        let moment = try #require(Timestamp(rfc3339: text))
        #expect(moment.description == canonical)
        #expect(Timestamp(rfc3339: "<\(text)>".dropFirst().dropLast()) == moment)
        #expect(Timestamp(rfc3339: canonical) == moment)
    }

    @Test(arguments: [
        "", "2026-01-05", "2026-01-05T09:00:00", "2026-01-05 09:00:00Z", "2026-01-05T09:00:00.Z", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-05T24:00:00Z", "2026-01-05T09:60:00Z", "2026-01-05T09:00:60Z",
        "2026-01-05T09:00:00+1:00",
        "2026-01-05T09:00:00+01:60", "2026-01-05T09:00:00+24:00", "2026-01-05T09:00:00Zx", "2026-01-05T09:00:00.5",
        "２026-01-05T09:00:00Z",
        "1900-02-29T00:00:00Z", "2026-00-05T09:00:00Z", "2026-01-00T09:00:00Z", "-026-01-05T09:00:00Z",
    ])
    func `a time that is not RFC 3339 is refused`(_ text: String) { #expect(Timestamp(rfc3339: text) == nil) }

    @Test func `times in SQL's form, without a zone, are read as UTC`() throws {
        let moment = try #require(Timestamp(sql: "2026-01-05 09:00:00"))
        #expect(moment == Timestamp(rfc3339: "2026-01-05T09:00:00Z"))
        #expect((moment + .milliseconds(999)).sql == "2026-01-05 09:00:00")
        for bad in [
            "", "2026-01-05", "2026-01-05T09:00:00", "2026-01-05 09:00:00 ", "2026-02-30 09:00:00", "05/01/2026 09:00 am",
            "2026-1-5 9:0:0",
        ] { #expect(Timestamp(sql: bad) == nil) }
    }

    @Test func `arithmetic saturates and never traps`() {
        #expect(Timestamp.distantFuture + .seconds(1) == .distantFuture)
        #expect(Timestamp.distantPast - .seconds(1) == .distantPast)
        #expect(Timestamp.distantPast + .seconds(-1) == .distantPast)
        #expect(Timestamp.epoch + Duration(secondsComponent: .max, attosecondsComponent: 0) == .distantFuture)
        #expect(Timestamp(microseconds: -9) - Duration(secondsComponent: .max, attosecondsComponent: 0) == .distantPast)
        #expect(Timestamp(seconds: .max) == .distantFuture && Timestamp(seconds: .min) == .distantPast)
        let whole = Timestamp.distantFuture - Timestamp.distantPast
        #expect(whole == .microseconds(Int64.max) + .microseconds(Int64.max) + .microseconds(1))
        #expect(!Timestamp.distantPast.description.isEmpty && !Timestamp.distantFuture.sql.isEmpty)
    }

    @Test func `adding the difference of two timestamps to one gives the other`() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<1000 {
            let one = Timestamp(microseconds: .random(in: -(1 << 60)...(1 << 60), using: &random))
            let other = Timestamp(microseconds: .random(in: -(1 << 60)...(1 << 60), using: &random))
            #expect(one + (other - one) == other)
            #expect((one < other) == (other - one > .zero) || one == other)
            #expect(Timestamp(utc: one.utc) + .microseconds(one.subsecondMicroseconds) == one)
        }
    }
}
