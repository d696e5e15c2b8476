extension Fault {
    /// How many requests are taken in a while, as a chat takes one message a second.
    public struct RateLimit: Sendable, Hashable {
        public var requests: Int
        /// The length of the while, by the simulation's clock. It slides: no while of this length has more requests than that.
        public var seconds: Int
        public var comeBack: ComeBack

        /// - Parameter comeBack: what a refusal says of when to come back; the length of the while when nil.
        public init(_ requests: Int = 1, in seconds: Int = 1, comeBack: ComeBack? = nil) {
            self.requests = requests
            self.seconds = seconds
            self.comeBack = comeBack ?? .seconds(seconds)
        }

        /// Takes a request into the times of those that were taken; false where it is one too many.
        func takes(at now: Int64, _ taken: inout [Int64]) -> Bool {
            taken.removeAll { $0 <= now - Int64(seconds) * CivilTime.second }
            guard taken.count < requests else { return false }
            taken.append(now)
            return true
        }
    }
}
