import BellhopCore
import Foundation
import Testing

struct `Time zones` {
    @Test(arguments: [
        // zone, last second before a change with its offset and abbreviation, and those one second later
        ("Europe/Berlin", "2026-03-29T00:59:59Z", 3600, "CET", 7200, "CEST"),
        ("Europe/Berlin", "2026-10-25T00:59:59Z", 7200, "CEST", 3600, "CET"),
        ("Europe/Berlin", "2499-03-29T00:59:59Z", 3600, "CET", 7200, "CEST"),
        ("America/New_York", "2026-03-08T06:59:59Z", -18_000, "EST", -14_400, "EDT"),
        ("America/New_York", "2026-11-01T05:59:59Z", -14_400, "EDT", -18_000, "EST"),
        ("Australia/Lord_Howe", "2026-04-04T14:59:59Z", 39_600, "+11", 37_800, "+1030"),
        ("Australia/Lord_Howe", "2026-10-03T15:29:59Z", 37_800, "+1030", 39_600, "+11"),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", -36_000, "-10", 50_400, "+14"),
        ("Africa/Casablanca", "2026-02-15T01:59:59Z", 3600, "+01", 0, "+00"),
        ("Europe/Dublin", "2026-03-29T00:59:59Z", 0, "GMT", 3600, "IST"),
    ])
    func `offsets change at the known second`(
        _ name: String, _ before: Timestamp, _ offset: Int, _ abbreviation: String, _ newOffset: Int, _ newAbbreviation: String
    ) throws {
        let zone = try zone(name)
        #expect(zone.offset(at: before + .microseconds(999_999)) == offset)
        #expect(zone.abbreviation(at: before) == abbreviation)
        #expect(zone.offset(at: before + .seconds(1)) == newOffset)
        #expect(zone.abbreviation(at: before + .seconds(1)) == newAbbreviation)
    }

    @Test(arguments: [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "America/St_Johns",
    ])
    func `offsets of 120 years agree with Foundation`(_ name: String) throws {
        let zone = try zone(name)
        let other = try #require(TimeZone(identifier: name))
        for step in 0..<60_000 {
            let seconds = Int64(step) * 63_137
            let moment = Timestamp(seconds: seconds)
            let expected = other.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds)))
            guard zone.offset(at: moment) == expected else {
                Issue.record("\(moment): \(zone.offset(at: moment)), expected \(expected)")
                return
            }
        }
    }

    @Test(
        arguments: [
            (
                "Europe/Berlin", "2026-03-29 02:30",
                LocalMoment.gap(before: "2026-03-29T00:59:59.999999Z", after: "2026-03-29T01:00Z")
            ),
            ("Europe/Berlin", "2026-03-29 01:59", .unique("2026-03-29T00:59Z")),
            ("Europe/Berlin", "2026-03-29 03:00", .unique("2026-03-29T01:00Z")),
            ("Europe/Berlin", "2026-10-25 02:00", .fold(first: "2026-10-25T00:00Z", second: "2026-10-25T01:00Z")),
            ("Europe/Berlin", "2026-10-25 02:59", .fold(first: "2026-10-25T00:59Z", second: "2026-10-25T01:59Z")),
            ("Europe/Berlin", "2026-10-25 03:00", .unique("2026-10-25T02:00Z")),
            ("Australia/Lord_Howe", "2026-10-04 02:15", .gap(before: "2026-10-03T15:29:59.999999Z", after: "2026-10-03T15:30Z")),
            ("Australia/Lord_Howe", "2026-04-05 01:45", .fold(first: "2026-04-04T14:45Z", second: "2026-04-04T15:15Z")),
            ("Pacific/Apia", "2011-12-30 12:00", .gap(before: "2011-12-30T09:59:59.999999Z", after: "2011-12-30T10:00Z")),
            ("Pacific/Apia", "2011-12-31 00:00", .unique("2011-12-30T10:00Z")),
            ("America/Sao_Paulo", "2018-11-04 00:00", .gap(before: "2018-11-04T02:59:59.999999Z", after: "2018-11-04T03:00Z")),
            ("Pacific/Kwajalein", "1993-08-21 12:00", .gap(before: "1993-08-21T11:59:59.999999Z", after: "1993-08-21T12:00Z")),
        ] as [(String, CivilDateTime, LocalMoment)])
    func `skipped and repeated times are identified`(_ name: String, _ local: CivilDateTime, _ expected: LocalMoment) throws {
        #expect(try zone(name).resolve(local) == expected)
    }

    @Test(arguments: [
        ("2026-12-24 18:00", "2026-12-24T17:00:00Z"), ("2026-07-24T18:00:30", "2026-07-24T16:00:30Z"),
        ("2026-03-29 02:30", "2026-03-29T01:00:00Z"), ("2026-10-25 02:30", "2026-10-25T00:30:00Z"),
        ("2026-12-24T18:00:00+09:00", "2026-12-24T09:00:00Z"), ("2026-12-24 18:00:00Z", "2026-12-24T18:00:00Z"),
    ]) func `a time without an offset is a local time of the zone`(_ text: String, _ moment: String) throws {
        #expect(try Timestamp(text, in: zone("Europe/Berlin")) == Timestamp(rfc3339: moment))
    }

    @Test(arguments: ["tomorrow", "2026-12-24", "18:00", "2026-12-24 18", "2026-02-30 18:00", "2026-12-24 25:00", ""])
    func `other texts are no times`(_ text: String) { #expect(Timestamp(text, in: .utc) == nil) }

    @Test(arguments: [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll", "Africa/Casablanca",
    ])
    func `each local time resolves to the moments found by scanning all moments`(_ name: String) throws {
        let zone = try zone(name)
        // Two years with the date that Apia skipped, in steps of a quarter of an hour.
        let (first, last): (Timestamp, Timestamp) = ("2010-12-01T00:00Z", "2012-12-01T00:00Z")
        var shown: [Int64: [Timestamp]] = [:]
        for seconds in stride(from: first.seconds, to: last.seconds, by: 900) {
            let moment = Timestamp(seconds: seconds)
            shown[zone.local(moment).secondsSinceEpoch, default: []].append(moment)
        }
        for wall in stride(from: first.seconds + 108_000, to: last.seconds - 108_000, by: 900) {
            let resolved = zone.resolve(CivilDateTime(secondsSinceEpoch: wall))
            let agrees =
                switch (resolved, shown[wall] ?? []) {
                case (.unique(let moment), let seen): seen == [moment]
                case (.fold(let one, let other), let seen): seen == [one, other]
                case (.gap(let before, let after), let seen):
                    seen.isEmpty && zone.local(before).secondsSinceEpoch < wall && zone.local(after).secondsSinceEpoch > wall
                        && before + .microseconds(1) == after
                }
            guard agrees else {
                Issue.record("\(CivilDateTime(secondsSinceEpoch: wall)): \(resolved), expected \(shown[wall] ?? [])")
                return
            }
        }
    }

    @Test func `a moment is written in the zone's local time`() throws {
        let berlin = try zone("Europe/Berlin")
        #expect(Timestamp("2026-01-05T09:00Z").formatted(in: berlin) == "2026-01-05T10:00:00+01:00")
        #expect(Timestamp("2026-07-05T09:00:00.250000Z").formatted(in: berlin) == "2026-07-05T11:00:00.25+02:00")
        #expect(Timestamp("2026-01-05T09:00Z").formatted(in: .utc) == "2026-01-05T09:00:00Z")
        #expect(Timestamp("2026-01-05T09:00Z").formatted(in: try zone("America/St_Johns")) == "2026-01-05T05:30:00-03:30")
        let longAgo: Timestamp = "1850-01-01T00:00Z"
        #expect(berlin.offset(at: longAgo) == 3208)
        #expect(Timestamp(rfc3339: longAgo.formatted(in: berlin)) == longAgo)
    }

    @Test func `a zone follows its POSIX rule for all later times`() throws {
        let negative = try #require(TimeZoneTable(name: "x", posix: "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"))
        #expect(negative.offset(at: "2026-03-29T00:59:59Z") == -7200)
        #expect(negative.offset(at: "2026-03-29T01:00:00Z") == -3600)
        let always = try #require(TimeZoneTable(name: "x", posix: "XXX3EDT4,0/0,J365/23"))
        for day in 0..<1500 { #expect(always.offset(at: Timestamp(seconds: Int64(day) * 43_200)) == -14_400) }
        let julian = try #require(TimeZoneTable(name: "x", posix: "AAA0BBB,J60/0,300/0"))
        #expect(julian.offset(at: "2024-02-29T12:00Z") == 0 && julian.offset(at: "2024-03-01T00:00Z") == 3600)
        #expect(julian.offset(at: "2025-03-01T00:00Z") == 3600 && julian.offset(at: "2025-02-28T23:59Z") == 0)
        for bad in [
            "", "CE", "CET", "CET-1CEST", "CET-25", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1x", "<+1-1",
            "CET-1CEST,M3.6.0,M10.5.0",
        ] { #expect(TimeZoneTable(name: "x", posix: bad) == nil, "\(bad)") }
    }

    @Test func `zone data that is truncated or altered is refused and never causes a trap`() throws {
        let bytes = Array(try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: TimeZoneTable.Malformed.self) { try TimeZoneTable(name: "x", tzif: Array(bytes[..<count])) }
        }
        var random = SeededRandom(seed: 8)
        for _ in 0..<4000 {
            var broken = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                broken[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: .min ... .max, using: &random)
            }
            guard let zone = try? TimeZoneTable(name: "x", tzif: broken) else { continue }
            for moment in [Timestamp.distantPast, .epoch, "2026-03-29T01:00Z", .distantFuture] {
                _ = zone.resolve(zone.local(moment))
            }
        }
        let leaps = try? Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/right/Europe/Berlin"))
        if let leaps {
            let error = #expect(throws: TimeZoneTable.Malformed.self) { try TimeZoneTable(name: "x", tzif: Array(leaps)) }
            #expect(error?.description == "it counts leap seconds")
        }
    }
}
