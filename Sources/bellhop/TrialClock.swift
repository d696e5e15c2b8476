import BellhopAgent
import BellhopCore

extension SystemClock {
    /// The machine's clock, or, in debug builds and on request only, one that is ahead of it: `BELLHOP_CLOCK_AHEAD=259200` is
    /// three days ahead. For tests in which processes follow each other over hours and days.
    static func ofThisRun(environment: [String: String]) -> SystemClock {
        #if DEBUG
            if let seconds = environment["BELLHOP_CLOCK_AHEAD"].flatMap({ Int64($0) }) {
                return SystemClock(startingAt: SystemClock().now + .seconds(seconds), speed: 1)
            }
        #endif
        return SystemClock()
    }
}
