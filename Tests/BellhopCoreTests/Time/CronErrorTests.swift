import BellhopCore
import Testing

struct `Invalid cron schedules` {
    @Test(arguments: [
        ("", "a schedule is missing: write five fields: minute hour day month weekday", 0, 0),
        ("0 30 8 * * MON", "a schedule of six fields: write five fields: minute hour day month weekday", 11, 3),
        ("30 8 *", "a schedule of three fields: write five fields: minute hour day month weekday", 0, 6),
        ("1 2 3 4 5 6 7 8", "a schedule of 8 fields: write five fields: minute hour day month weekday", 10, 5),
        ("60 8 * * *", "60 is not a valid minute: 0-59", 0, 2),
        ("0 24 * * *", "24 is not a valid hour: 0-23", 2, 2),
        ("0 0 0 * *", "0 is not a valid day of the month: 1-31, or L for the last", 4, 1),
        ("0 0 * 13 *", "13 is not a valid month: 1-12 or JAN-DEC", 6, 2),
        ("0 0 * * 8", "8 is not a valid weekday: 0-7 or SUN-SAT (0 and 7 are Sunday)", 8, 1),
        ("0 0 * MON *", "'MON' is not a valid month: 1-12 or JAN-DEC", 6, 3),
        ("0 0 * * Monday", "'Monday' is not a valid weekday: MON", 8, 6),
        ("0 0 ? * MON", "'?' is not supported: *", 4, 1),
        ("0 0 15W * *", "'15W' is not a valid day of the month: 1-31, or L for the last", 4, 3),
        ("0 0 L-3 * *", "'L' is not a valid day of the month: 1-31, or L for the last", 4, 1),
        ("0 0 * * L", "'L' is not a valid weekday: 0-7 or SUN-SAT (0 and 7 are Sunday)", 8, 1),
        ("0 0 * * MON,#1", "'#1' is not a valid weekday: 0-7 or SUN-SAT (0 and 7 are Sunday)", 12, 2),
        ("0 0 * * FRI#6", "a month has each weekday four or five times: FRI#1 to FRI#5, or FRIL for the last one", 12, 1),
        ("0 0 * * 5#1-2", "a month has each weekday four or five times: 5#1 to 5#5, or 5L for the last one", 10, 3),
        ("0 0 * * 8L", "8 is not a valid weekday: 0-7 or SUN-SAT (0 and 7 are Sunday)", 8, 1),
        ("0 0 */9 2 MON#5", "this date never comes: no month given here has a day */9", 4, 5),
        ("0 0 * * FRI-MON", "a range that runs backwards: FRI-SAT,SUN-MON", 8, 7),
        ("0 22-6 * * *", "a range that runs backwards: 22-23,0-6", 2, 4),
        ("*/0 * * * *", "a step is a number from 1 on: for example */5", 2, 1),
        ("*/ * * * *", "a step is a number from 1 on: for example */5", 2, 0),
        ("*/x * * * *", "a step is a number from 1 on: for example */5", 2, 1),
        ("*/60 * * * *", "a step longer than the field minute: 0-59", 2, 2),
        ("5/10 * * * *", "a step needs a range: 5-59/10", 0, 4),
        ("1,,2 * * * *", "an empty entry in the field minute: 0-59", 2, 0),
        ("1, * * * *", "an empty entry in the field minute: 0-59", 2, 0),
        ("0 8- * * *", "a range with an open end in the field hour: 0-23", 4, 0),
        ("0 -8 * * *", "a range with an open end in the field hour: 0-23", 2, 0),
        ("0 0 31 2 *", "this date never comes: no month given here has a day 31", 4, 4),
        ("0 0 30,31 FEB *", "this date never comes: no month given here has a day 30,31", 4, 9),
        ("0 0 31 4,6 */2", "this date never comes: no month given here has a day 31", 4, 6),
        ("@every 5m", "'@every' is not a schedule: write `every:` with a duration", 0, 6),
        ("@reboot", "'@reboot' is not a schedule: @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually", 0, 7),
        ("@daily 5", "'@daily' must be alone: 0 0 * * *", 0, 6),
        ("é 8 * * *", "'é' is not a valid minute: 0-59", 0, 2),
    ])
    func `an invalid schedule is refused with its mistake and a correction`(
        _ text: String, _ message: String, _ offset: Int, _ length: Int
    ) {
        let error = #expect(throws: TimeTextError.self) { try CronSchedule(text) }
        #expect(error?.description == message)
        #expect(error?.offset == offset)
        #expect(error?.length == length)
    }

    @Test func `random schedule texts never cause a trap`() {
        let pieces = [
            "*", "/", "-", ",", "0", "7", "59", "999999999999999999999", "MON", "JAN", " ", " ", "@", "é", "?", "\t", "L", "#",
        ]
        var random = SeededRandom(seed: 10)
        for _ in 0..<30_000 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            if let schedule = try? CronSchedule(text) {
                #expect(schedule.next(after: .epoch, in: .utc) != nil, "\(text)")
            }
        }
    }
}
