import BellhopCore
import Testing

struct `Durations in text` {
    @Test(arguments: [
        ("90s", Duration.seconds(90), "1m30s"), ("15m", .seconds(900), "15m"), ("1h30m", .seconds(5400), "1h30m"),
        ("2d", .seconds(172_800), "2d"), ("500ms", .milliseconds(500), "500ms"), ("0s", .zero, "0s"),
        ("400d", .seconds(34_560_000), "400d"), ("365250d", .seconds(31_557_600_000), "365250d"),
        ("1d2h3m4s5ms6us", .microseconds(93_784_005_006), "1d2h3m4s5ms6us"),
        ("36h", .seconds(129_600), "1d12h"), ("090s", .seconds(90), "1m30s"),
    ])
    func `durations are read and written in their shortest form`(_ text: String, _ duration: Duration, _ short: String) throws {
        #expect(try DurationText.parse(text) == duration)
        #expect(DurationText.format(duration) == short)
        #expect(try DurationText.parse(short) == duration)
    }

    @Test(arguments: [
        ("30", "a duration needs a unit: did you mean 30s?", 0, 2),
        ("1h30", "a duration needs a unit: did you mean 1h30s?", 2, 2),
        ("", "a duration is missing: for example 1h30m", 0, 0),
        ("  ", "a duration is missing: for example 1h30m", 0, 2),
        ("1h 30m", "a duration has no spaces: write 1h30m", 2, 1),
        ("30m1h", "the units of a duration go from large to small, each once: write 1h30m", 3, 2),
        ("1m1m", "the units of a duration go from large to small, each once: write 2m", 2, 2),
        ("15M", "'M' is not a unit: write 15m", 2, 1),
        ("5min", "'min' is not a unit: write 5m", 1, 3),
        ("2w", "'w' is not a unit: write 14d", 1, 1),
        ("5µs", "'µs' is not a unit: write 5us", 1, 3),
        ("3 fortnights", "'fortnights' is not a unit: use ms, s, m, h or d", 2, 10),
        ("1.5h", "a duration has whole numbers only: write 1h30m", 0, 3),
        ("0,25s", "a duration has whole numbers only: write 250ms", 0, 4),
        ("1.5", "a duration has whole numbers only", 0, 3),
        ("-5s", "a duration has no sign: for example 1h30m", 0, 1),
        ("soon", "a duration begins with a number: for example 1h30m", 0, 4),
        ("5s!", "a duration begins with a number: for example 1h30m", 2, 1),
        ("5!", "this is not part of a duration: for example 1h30m", 1, 1),
        ("99999999999999999999s", "a number too large for a duration", 0, 20),
        ("9000000000000d", "a duration of more than 1,000 years", 0, 14),
        ("365250d1us", "a duration of more than 1,000 years", 7, 3),
    ])
    func `an invalid duration is refused with its mistake and a correction`(
        _ text: String, _ message: String, _ offset: Int, _ length: Int
    ) {
        let error = #expect(throws: TimeTextError.self) { try DurationText.parse(text) }
        #expect(error?.description == message)
        #expect(error?.offset == offset)
        #expect(error?.length == length)
    }

    @Test func `every duration in whole microseconds survives writing and reading`() throws {
        var random = SeededRandom(seed: 9)
        for bits in 0..<54 {
            let duration = Duration.microseconds(Int64.random(in: 0...((1 << bits) | (1 << bits) - 1), using: &random))
            #expect(try DurationText.parse(DurationText.format(duration)) == duration)
        }
        #expect(DurationText.format(.seconds(-5400)) == "-1h30m")
        #expect(DurationText.format(Duration(secondsComponent: .min, attosecondsComponent: 0)).hasPrefix("-"))
    }

    @Test func `a duration as a number is rounded towards zero and clamped`() {
        let time = Duration.nanoseconds(-1_234_567_891)
        #expect([time.wholeMilliseconds, time.wholeMicroseconds, time.wholeNanoseconds] == [-1234, -1_234_567, -1_234_567_891])
        #expect(Duration.milliseconds(2250).seconds == 2.25)
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max && Duration.seconds(Int64.min).wholeNanoseconds == .min)
    }
}
