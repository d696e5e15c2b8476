import BellhopAgent
import BellhopCore

extension SystemClock {
    /// The machine's clock. In debug builds `BELLHOP_CLOCK_AHEAD=259200` sets it three days ahead, for tests in which processes follow
    /// each other over hours and days.
    static func ofThisRun(environment: [String: String]) -> SystemClock {
        #if DEBUG
            if let seconds = environment["BELLHOP_CLOCK_AHEAD"].flatMap({ Int64($0) }) {
                return SystemClock(startingAt: SystemClock().now + .seconds(seconds), speed: 1)
            }
        #endif
        return SystemClock()
    }
}
