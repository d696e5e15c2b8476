import BellhopCore
import Testing

/// A second, slow implementation: each field is a set, and every minute is tested.
private struct SlowCron {
    var fields: [Set<Int>]
    var text: String

    /// A schedule of random sets, written out as lists or stars.
    static func random(using random: inout some RandomNumberGenerator) -> SlowCron {
        let ranges = [0...59, 0...23, 1...31, 1...12, 0...6]
        let chances = [0.2, 0.4, 0.7, 0.8, 0.7]
        var fields: [Set<Int>] = []
        var words: [String] = []
        for (range, chance) in zip(ranges, chances) {
            if Double.random(in: 0..<1, using: &random) < chance {
                fields.append(Set(range))
                words.append("*")
            } else {
                let values = Set((0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: range, using: &random) })
                fields.append(values)
                words.append(values.map(String.init).joined(separator: ","))
            }
        }
        return SlowCron(fields: fields, text: words.joined(separator: " "))
    }

    func matches(_ wall: CivilDateTime) -> Bool {
        guard fields[0].contains(wall.minute), fields[1].contains(wall.hour), fields[3].contains(wall.month) else { return false }
        let (day, weekday) = (fields[2].contains(wall.day), fields[4].contains(wall.weekday.rawValue))
        return fields[2].count < 31 && fields[4].count < 7 ? day || weekday : day && weekday
    }

    /// The due times within a span, found minute by minute. A schedule for every hour follows elapsed time; any other follows the
    /// local time and is due when the clock first shows its time or skips it.
    func due(from start: Timestamp, through end: Timestamp, in zone: TimeZoneTable) -> [Timestamp] {
        var due: [Timestamp] = []
        var latest = zone.local(start - .seconds(60)).secondsSinceEpoch
        for seconds in stride(from: start.seconds, through: end.seconds, by: 60) {
            let moment = Timestamp(seconds: seconds)
            let wall = zone.local(moment).secondsSinceEpoch
            if fields[1].count == 24 {
                if matches(CivilDateTime(secondsSinceEpoch: wall)) { due.append(moment) }
            } else if wall > latest {
                let reached = stride(from: latest + 60, through: wall, by: 60)
                if reached.contains(where: { matches(CivilDateTime(secondsSinceEpoch: $0)) }) { due.append(moment) }
                latest = wall
            }
        }
        return due
    }
}

struct `Cron schedules compared with a scan of all times` {
    @Test(
        arguments: [
            ("Europe/Berlin", "2026-03-26T00:00Z"), ("Europe/Berlin", "2026-10-22T00:00Z"),
            ("America/New_York", "2026-03-06T00:00Z"),
            ("America/New_York", "2026-10-29T00:00Z"), ("Australia/Lord_Howe", "2026-04-02T00:00Z"),
            ("Australia/Lord_Howe", "2026-10-01T00:00Z"), ("Pacific/Apia", "2011-12-28T00:00Z"),
            ("Antarctica/Troll", "2026-03-26T00:00Z"),
            ("Antarctica/Troll", "2026-10-22T00:00Z"), ("America/Sao_Paulo", "2018-11-02T00:00Z"),
            ("Africa/Casablanca", "2026-02-13T00:00Z"),
        ] as [(String, Timestamp)])
    func `occurrences around a time change are those found minute by minute`(_ name: String, _ start: Timestamp) throws {
        let zone = try zone(name)
        let end = start + .seconds(5 * 86_400)
        var random = SeededRandom(seed: UInt64(bitPattern: start.microseconds))
        var compared = 0
        for _ in 0..<8 {
            let slow = SlowCron.random(using: &random)
            guard let schedule = try? CronSchedule(slow.text) else { continue }  // a date that never comes
            compared += 1
            let found = schedule.occurrences(from: start, through: end, limit: .max, in: zone)
            #expect(found == slow.due(from: start, through: end, in: zone), "\(slow.text)")
            // The next occurrence from any moment is the first of these after it.
            for _ in 0..<40 {
                let moment = start + .seconds(Int.random(in: 0..<(5 * 86_400), using: &random))
                if let next = found.first(where: { $0 > moment }) {
                    #expect(schedule.next(after: moment, in: zone) == next, "\(slow.text) after \(moment)")
                }
            }
        }
        #expect(compared > 0)
    }

    @Test(arguments: 0..<7, 1...6)
    func `weekdays that are counted in their month are those found day by day`(_ weekday: Int, _ number: Int) throws {
        // The sixth is the last.
        let schedule = try CronSchedule("0 0 * * \(weekday)" + (number == 6 ? "L" : "#\(number)"))
        let start: Timestamp = "2026-01-01T00:00Z"
        let days = (0..<5000).map { start.utc.date.adding(days: $0) }.filter { date in
            date.weekday.rawValue == weekday
                && (number == 6 ? date.adding(days: 7).month != date.month : (date.day - 1) / 7 + 1 == number)
        }
        let found = schedule.occurrences(from: start, through: start + .days(4999), limit: .max, in: .utc)
        #expect(found.map(\.utc.date) == days)
    }
}
