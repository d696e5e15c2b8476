import BellhopCore
import Testing

struct `Cron schedules` {
    @Test(
        arguments: [
            ("30 8 * * MON-FRI", "UTC", "2026-01-02T08:30:00Z", "2026-01-05T08:30Z"),
            ("30 8 * * MON-FRI", "Europe/Berlin", "2026-01-05T07:29:59.999999Z", "2026-01-05T07:30Z"),
            ("*/5 8-18 * * mon-fri", "UTC", "2026-01-05T18:55Z", "2026-01-06T08:00Z"),
            ("0 0 29 2 *", "UTC", "2096-03-01T00:00Z", "2104-02-29T00:00Z"),
            ("0 0 29 feb */7", "UTC", "2026-01-01T00:00Z", "2032-02-29T00:00Z"),
            ("0 0 13 * FRI", "UTC", "2026-01-01T00:00Z", "2026-01-02T00:00Z"),
            ("0 0 13 * FRI", "UTC", "2026-01-09T00:00Z", "2026-01-13T00:00Z"),
            ("0 0 */2 * MON", "UTC", "2026-01-05T00:00Z", "2026-01-19T00:00Z"),
            ("0 0 * * 7", "UTC", "2026-01-05T00:00Z", "2026-01-11T00:00Z"),
            ("0 0 * * FRI-SUN", "UTC", "2026-01-10T00:00Z", "2026-01-11T00:00Z"),
            ("0 0 * * 7-1", "UTC", "2026-01-11T00:00Z", "2026-01-12T00:00Z"),
            ("15,45 10-12/2 1 JAN,jul *", "UTC", "2026-01-01T12:45Z", "2026-07-01T10:15Z"),
            ("@hourly", "Asia/Kathmandu", "2026-01-01T00:00Z", "2026-01-01T00:15Z"),
            ("@daily", "America/New_York", "2026-01-01T05:00Z", "2026-01-02T05:00Z"),
            ("@Midnight", "UTC", "2026-01-01T05:00Z", "2026-01-02T00:00Z"),
            ("@weekly", "UTC", "2026-01-01T05:00Z", "2026-01-04T00:00Z"),
            ("@monthly", "UTC", "2026-01-01T00:00Z", "2026-02-01T00:00Z"),
            ("@yearly", "UTC", "2026-01-01T00:00Z", "2027-01-01T00:00Z"),
            ("  @annually ", "UTC", "2026-01-01T00:00Z", "2027-01-01T00:00Z"),
            ("0 0 31 12 *", "UTC", "1969-06-01T00:00Z", "1969-12-31T00:00Z"),
            // days that are counted in their month
            ("0 9 L * *", "UTC", "2026-01-31T09:00Z", "2026-02-28T09:00Z"),
            ("0 9 l 2 *", "UTC", "2027-03-01T00:00Z", "2028-02-29T09:00Z"),
            ("0 9 1,15,L * *", "UTC", "2026-02-15T09:00Z", "2026-02-28T09:00Z"),
            ("0 9 * * TUE#2", "UTC", "2026-09-08T09:00Z", "2026-10-13T09:00Z"),
            ("0 9 * * fri#5", "UTC", "2026-01-30T09:00Z", "2026-05-29T09:00Z"),
            ("0 9 * * FRIL", "UTC", "2026-01-30T09:00Z", "2026-02-27T09:00Z"),
            ("0 9 * * 7l", "UTC", "2026-02-01T00:00Z", "2026-02-22T09:00Z"),
            ("0 9 * * 0#1,WED", "UTC", "2026-01-01T00:00Z", "2026-01-04T09:00Z"),
            ("0 9 * * 0#1,WED", "UTC", "2026-01-04T09:00Z", "2026-01-07T09:00Z"),
            ("0 9 L * MON#1", "UTC", "2026-01-05T09:00Z", "2026-01-31T09:00Z"),
            ("0 0 * 2 MON#5", "UTC", "2026-01-01T00:00Z", "2044-02-29T00:00Z"),
            ("30 2 * * SUNL", "Europe/Berlin", "2026-03-01T00:00Z", "2026-03-29T01:00Z"),
        ] as [(String, String, Timestamp, Timestamp)])
    func `a schedule finds its next due time`(_ text: String, _ name: String, _ after: Timestamp, _ due: Timestamp) throws {
        let zone = name == "UTC" ? .utc : try zone(name)
        #expect(try CronSchedule(text).next(after: after, in: zone) == due)
    }

    @Test(
        arguments: [
            // skipped: 02:00 to 03:00 on 2026-03-29 in Berlin
            ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
            ("0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"]),
            ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"]),
            ("30 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", ["2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"]),
            ("*/20 * * * *", "Europe/Berlin", "2026-03-29T00:40Z", ["2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00"]),
            // twice: 02:00 to 03:00 on 2026-10-25 in Berlin
            ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
            ("*/30 2 * * *", "Europe/Berlin", "2026-10-25T00:15Z", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:00:00+01:00"]),
            ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"]),
            ("30 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
            ("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:30Z", ["2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"]),
            ("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]),
            // half an hour, skipped from 02:00 on 2026-10-04, twice from 01:30 on 2026-04-05
            (
                "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z",
                ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]
            ),
            (
                "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00Z",
                ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]
            ),
            (
                "0 * * * *", "Australia/Lord_Howe", "2026-04-04T14:30Z",
                ["2026-04-05T02:00:00+10:30", "2026-04-05T03:00:00+10:30"]
            ),
            // a whole day skipped, 2011-12-30
            ("0 8 * * *", "Pacific/Apia", "2011-12-29T12:00Z", ["2011-12-29T08:00:00-10:00", "2011-12-31T00:00:00+14:00"]),
            ("0 * * * *", "Pacific/Apia", "2011-12-30T08:30Z", ["2011-12-29T23:00:00-10:00", "2011-12-31T00:00:00+14:00"]),
            // midnight itself skipped
            ("@daily", "America/Sao_Paulo", "2018-11-03T12:00Z", ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"]),
        ] as [(String, String, Timestamp, [String])])
    func `a schedule follows the wall clock if it names hours, and elapsed time otherwise`(
        _ text: String, _ name: String, _ after: Timestamp, _ due: [String]
    ) throws {
        let zone = try zone(name)
        let schedule = try CronSchedule(text)
        let found = schedule.occurrences(from: after + .microseconds(1), through: .distantFuture, limit: due.count, in: zone)
        #expect(found.map { $0.formatted(in: zone) } == due)
    }

    @Test(arguments: ["* * * * *", "0 0 29 2 *", "5 4 * * *"])
    func `a schedule has no occurrences beyond the calendar and does not trap there`(_ text: String) throws {
        let schedule = try CronSchedule(text)
        #expect(schedule.next(after: .distantFuture, in: .utc) == nil)
        #expect(try schedule.next(after: .distantFuture, in: zone("Europe/Berlin")) == nil)
        #expect(try #require(schedule.next(after: .distantPast, in: .utc)) > .distantPast)
        #expect(schedule.occurrences(from: .distantPast, through: .distantPast, limit: 1, in: .utc).count <= 1)
    }

    @Test func `a cadence's next poll depends on its interval, jitter and activity`() throws {
        let now: Timestamp = "2026-01-05T09:00Z"
        #expect(Cadence.every(.seconds(60)).next(after: now) == now + .seconds(60))
        #expect(Cadence.every(.seconds(60)).next(after: now, jitter: 0) == now + .seconds(54))
        #expect(Cadence.every(.seconds(60)).next(after: now, jitter: 1) == now + .seconds(66))
        let cadence = Cadence.busyIdle(busy: .seconds(15), idle: .seconds(120))
        #expect(cadence.next(after: now, busy: true) == now + .seconds(15))
        #expect(cadence.next(after: now, busy: false) == now + .seconds(120))
        #expect(Cadence.cron(try CronSchedule("@hourly"), .utc).next(after: now, jitter: 0.9) == now + .seconds(3600))
    }
}
